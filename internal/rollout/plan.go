package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/verdict"
)

const (
	// ProgressDeadline is how long a step may go without a new pod until all its pods are ready and verified. It counts from the step's
	// start or its newest pod, since a step of many pods takes longer as a whole.
	ProgressDeadline = 10 * time.Minute
	// AdmissionBound is how long after the slots closed a pod that was admitted with the candidate may still appear: the API server
	// gives a request up to 34 s, and a look at the end of that must be clean.
	AdmissionBound = 40 * time.Second
	// MaxWarmUp ends the wait for ten GC cycles.
	MaxWarmUp = 10 * time.Minute
	// MaxEvidence bounds the window that a promotion rests on: a hold of days would ask Prometheus for days of every series at each look.
	MaxEvidence = 6 * time.Hour
	// WarmUpGCCycles that each process finishes before it is judged: the heap has then grown to its size.
	WarmUpGCCycles = 10
	// GuardInterval is how often the absolute limits are looked at between two verdicts.
	GuardInterval = 5 * time.Second
	// PromotionDeadline is how long a trial that has passed every step waits for a person.
	PromotionDeadline = 24 * time.Hour
	// NextRolloutDeadline is how long the guards stay on for the first pods of a baseline that waits for the next deploy.
	NextRolloutDeadline = 30 * 24 * time.Hour
	// minProvingPods is the least canary cohort whose success promotes by itself.
	minProvingPods = 3
	// maxSlots that one trial ever holds; the CRD bounds the list.
	maxSlots = 500
)

// Step is one stage of a trial.
type Step struct {
	// Canary pods: a count, or a percentage of the replicas.
	Canary intstr.IntOrString
	// Hold is how long the step is judged good before the next.
	Hold time.Duration
}

// Plan is what a policy says of its trials.
type Plan struct {
	Steps          []Step
	MaxUnavailable intstr.IntOrString
	Interval       time.Duration
	WarmUp         time.Duration
	NoDataTimeout  time.Duration
	SLOs           []verdict.SLO
	Gain           verdict.Gain
	Breaker        verdict.Breaker
	// GoodWindows is how many looks in a row must pass before the next step.
	GoodWindows int
	// ByHand leaves the promotion to a person, AtNextRollout the replacement of the other pods to the next deploy.
	ByHand, AtNextRollout bool
}

// CanaryPods is the number of canary pods of a step: a percentage is rounded up, one pod is always left for comparison where
// there are two, and a step never has fewer than the one before it.
func (p Plan) CanaryPods(step, replicas int) int {
	most := 0
	for _, s := range p.Steps[:min(step+1, len(p.Steps))] { // the policy may have fewer steps than when the trial began
		most = max(most, scaled(s.Canary, replicas, true))
	}
	return max(0, min(most, max(replicas-1, min(replicas, 1)), maxSlots))
}

// ControlPods is the number of pods that the canary pods of a step are compared with: as many, where the replicas allow it.
func (p Plan) ControlPods(step, replicas int) int {
	canary := p.CanaryPods(step, replicas)
	return max(0, min(canary, replicas-canary))
}

// Unavailable is how many pods of the target may be down while one is replaced.
func (p Plan) Unavailable(replicas int) int {
	return max(1, scaled(p.MaxUnavailable, replicas, false))
}

// Replacements are how many pods a trial takes at the most, if it loses none: its canary and control pods, and then either those that go back or
// those that follow.
func (p Plan) Replacements(replicas int, purpose v1alpha1.TrialPurpose) int {
	last := len(p.Steps) - 1
	canaries := p.CanaryPods(last, replicas)
	then := canaries
	if purpose == v1alpha1.PurposePromote && !p.AtNextRollout {
		then = max(then, replicas-canaries)
	}
	return canaries + p.ControlPods(last, replicas) + then
}

// Feasible says why no trial of the plan can be run with so many replicas; empty where one can. A single pod can only be replaced where it serves
// on until its successor is up.
func (p Plan) Feasible(replicas int, surges bool) string {
	switch {
	case replicas == 0:
		return "the target has no replicas"
	case replicas < 2 && !surges:
		return "the target has 1 replica: replacing its pod by eviction would take it down; it needs at least 2, and 6 for a gain to be provable"
	case p.CanaryPods(len(p.Steps)-1, replicas) < 1:
		return "the last step has no canary pod"
	}
	return ""
}

// Unprovable says why no trial of the plan can prove a gain with so many replicas: it can then only recommend. Empty where one can.
func (p Plan) Unprovable(replicas int) string {
	last := len(p.Steps) - 1
	return unprovable(p.CanaryPods(last, replicas), p.ControlPods(last, replicas))
}

func unprovable(canary, control int) string {
	if canary < minProvingPods || verdict.LeastChance(canary, control) > verdict.Significance {
		return fmt.Sprintf("the last step compares %d canary with %d control pods, too few to prove a gain: 3 against 3 are the least, so the target "+
			"needs at least 6 replicas and a last step of at least 3 pods", canary, control)
	}
	return ""
}

// looks is how many verdicts a trial takes at the most: they share the chance of a false alarm.
func (p Plan) looks() int {
	if p.Interval <= 0 || len(p.Steps) == 0 {
		return 1
	}
	total := p.patience(p.Steps[len(p.Steps)-1].Hold)
	for _, step := range p.Steps[:len(p.Steps)-1] {
		total += step.Hold
	}
	return int(total/p.Interval) + len(p.Steps)*p.GoodWindows
}

// patience is how long a step may stay undecided.
func (p Plan) patience(hold time.Duration) time.Duration { return 3*hold + p.NoDataTimeout }

// scaled resolves a count or percentage. The CRD admits no other form.
func scaled(value intstr.IntOrString, total int, up bool) int {
	if value.Type == intstr.Int {
		return value.IntValue()
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
	if err != nil {
		return 0
	}
	if up {
		return (total*percent + 99) / 100
	}
	return total * percent / 100
}
