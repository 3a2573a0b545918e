// Package verdict answers whether canary pods are good: guardrails from the Kubernetes API, service-level objectives, and the gain
// against the control pods. It is pure: numbers in, a verdict with the numbers behind it out.
package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// Member is a pod of a cohort.
type Member struct {
	Name string
	// Node that the pod runs on; empty where it is not known.
	Node string
	// CreatedAt, and FirstReadyAt where that is known, give the start-up time.
	CreatedAt    time.Time
	FirstReadyAt time.Time
	// MemoryLimitBytes of the container; 0 for none.
	MemoryLimitBytes int64
	Health
}

// SLO is one objective of the policy, resolved to numbers.
type SLO struct {
	Name string
	// ThresholdSeconds of a latency objective; 0 says that the objective bounds failed requests.
	ThresholdSeconds float64
	// AllowedShare of requests that may be slow, or fail: 0.01 for 1 %.
	AllowedShare float64
	// Query says that the objective bounds the mean of Pod.Custom[Name] over the canary pods by Max, and nothing else.
	Query bool
	Max   float64
}

// Gain is what a candidate must save to be worth keeping.
type Gain struct {
	// Minimize is what must be saved.
	Minimize v1alpha1.Minimize
	// MinShare of the GC CPU time per request of the control pods: 0.05 for 5 %.
	MinShare float64
	// MinCPUShare of the whole CPU time per request of the control pods.
	MinCPUShare float64
}

// Input is what one look at a trial shows.
type Input struct {
	Now     time.Time
	Canary  []Member
	Control []Member
	SLOs    []SLO
	Gain    Gain
	// Recent is the latest short window: it sees a breach soon. Nil where Prometheus gave none.
	Recent *signal.Window
	// Evidence is everything since the warm-up: promotion rests on it. Nil where Prometheus gave none.
	Evidence *signal.Window
	// JudgeGain asks for the objective, and for non-inferiority on all guards, too: at the end of the last step.
	JudgeGain bool
	// Margins are how much worse the canary pods may be, relative, by signal; settled when the trial started.
	Margins map[v1alpha1.SignalName]Margin
	Breaker Breaker
	// Looks is how many looks the trial may take, which share the chance of a false alarm.
	Looks int
	// BadWindows are the looks in a row so far at which a check was bad.
	BadWindows []v1alpha1.BadWindows
}

// Margin of one signal.
type Margin struct {
	// Allowed is the relative effect that still passes: 0.05 for 5 %.
	Allowed float64
	// PodSpread is the standard deviation of the logarithm from pod to pod, with equal settings; 0 where not known.
	PodSpread float64
}

// Breaker trips when failures pass all bounds.
type Breaker struct {
	// Share of failed requests: 0.4 for 40 %.
	Share float64
	// Length of time that it must last.
	Length time.Duration
}

// Judgement is a verdict with what the next look must know.
type Judgement struct {
	v1alpha1.Verdict
	BadWindows []v1alpha1.BadWindows
	Harm       v1alpha1.HarmLayout
}

// Judge gives the verdict over all checks: a Fail outweighs everything, then Invalid, then Inconclusive.
func Judge(in Input) Judgement {
	rows := rows{}
	checks := Guardrails(in.Now, in.Canary, in.Control)
	checks = append(checks, freshness(in, in.Recent, in.Evidence))
	for _, slo := range in.SLOs {
		checks = append(checks, rows.objective(slo, in))
	}
	checks = append(checks, trips(in)...)
	throttling, inARow := throttlingCheck(in)
	checks = append(checks, rows.note(throttling, inARow))
	if in.JudgeGain {
		checks = append(checks, gainCheck(in))
	}
	looks, harm := in.spendHarm(compareGuards(in))
	checks = append(checks, rows.guards(looks)...)
	if startup, known := startupCheck(in); known {
		checks = append(checks, startup)
	}
	if imbalance, found := nodeCheck(in); found {
		checks = append(checks, imbalance)
	}
	return Judgement{Verdict: in.sized(Combine(in.Now, bounded(checks))), BadWindows: rows.counted(), Harm: harm}
}

// spendHarm shares the chance of a false alarm out among all looks and guards, where the cohorts' sizes can give so small a chance at all.
func (in Input) spendHarm(looks []look) ([]look, v1alpha1.HarmLayout) {
	if in.Looks < 1 || len(looks) == 0 {
		return looks, v1alpha1.HarmGuardrailsOnly
	}
	chance := Significance / float64(in.Looks*len(looks))
	if leastTail(compare(nodesOf(in.Canary), nodesOf(in.Control)).strata) > chance {
		return looks, v1alpha1.HarmGuardrailsOnly
	}
	for i := range looks {
		looks[i].harmChance = chance
	}
	return looks, v1alpha1.HarmStatistical
}

func nodesOf(members []Member) []replicate {
	nodes := make([]replicate, 0, len(members))
	for _, member := range members {
		nodes = append(nodes, replicate{node: member.Node})
	}
	return nodes
}

// nodeCheck tells a person that pods on different nodes were compared. It is no failure: the nodes' own differences may be small.
func nodeCheck(in Input) (v1alpha1.Check, bool) {
	if !compare(nodesOf(in.Canary), nodesOf(in.Control)).imbalance {
		return v1alpha1.Check{}, false
	}
	return v1alpha1.Check{
		Name: "nodes", Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonNodeImbalance,
		Message: "too few nodes hold both canary and control pods to compare within nodes, so that differences between nodes may count as the candidate's",
	}, true
}

// sized notes the sizes of the cohorts.
func (in Input) sized(verdict v1alpha1.Verdict) v1alpha1.Verdict {
	verdict.CanaryPods, verdict.ControlPods = int32(len(in.Canary)), int32(len(in.Control))
	return verdict
}

// JudgeHealth gives the verdict over the guardrails from the Kubernetes API alone; during warm-up nothing else acts.
func JudgeHealth(now time.Time, canary, control []Member) v1alpha1.Verdict {
	return Combine(now, Guardrails(now, canary, control))
}

// MinCoverage is the share of a window's scrapes that must be there: below, an increase is mostly extrapolation.
const MinCoverage = 0.5

// freshness is Invalid where any pod of either cohort has no fresh samples. Partial data never counts as good: the missing pod may
// be the bad one.
func freshness(in Input, windows ...*signal.Window) v1alpha1.Check {
	check := v1alpha1.Check{Name: "data", Outcome: v1alpha1.OutcomeInvalid, Reason: v1alpha1.ReasonNoData}
	if len(in.Canary) == 0 {
		check.Message = "there is no canary pod to judge"
		return check
	}
	for _, window := range windows {
		if window == nil {
			check.Message = "Prometheus gave no answer"
			return check
		}
		age := max(0, in.Now.Sub(window.End))
		if age > window.MaxSampleAge() {
			check.Message = "Prometheus's latest answer is too old"
			return check
		}
		if name, why := stalePod(window, age, slices.Concat(in.Canary, in.Control)); name != "" {
			check.Message = fmt.Sprintf("pod %s: %s", name, why)
			return check
		}
	}
	check.Outcome, check.Reason = v1alpha1.OutcomePass, v1alpha1.ReasonPassed
	return check
}

// stalePod names a pod without fresh samples, and says why. A sample is older by the age of the window that holds it: an answer that
// was kept is no fresh one.
func stalePod(window *signal.Window, age time.Duration, members []Member) (name, why string) {
	for _, member := range members {
		pod := window.Pods[member.Name]
		pod.SampleAge += age
		if !pod.Fresh(window.MaxSampleAge(), MinCoverage) {
			return member.Name, staleness(pod)
		}
	}
	return "", ""
}

func staleness(pod signal.Pod) string {
	if !pod.Sampled {
		return "no samples in Prometheus"
	}
	return fmt.Sprintf("its newest sample is %s old and %.0f%% of its samples are there", pod.SampleAge.Round(time.Second), 100*pod.Coverage)
}

func podsOf(window *signal.Window, members []Member) []signal.Pod {
	if window == nil {
		return nil
	}
	pods := make([]signal.Pod, 0, len(members))
	for _, member := range members {
		pods = append(pods, window.Pods[member.Name])
	}
	return pods
}
