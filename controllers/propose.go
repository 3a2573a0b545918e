package controllers

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

// propose asks the strategy for a candidate, and does with it what the mode allows.
func (r *Reconciler) propose(ctx context.Context, p *pass, measured measurement) (*summary, error) {
	mode := p.policy.Spec.Mode
	proposal := tuning.Propose(p.tuningInput(measured, r.streaks.count(p.name())))
	r.streaks.saw(p.name(), proposal.OutsideDeadband)
	if proposal.Blocked != "" {
		return unwell(proposal.Blocked, proposal.Reason).asMeasured(), nil
	}
	if answer, err := r.approved(ctx, p); err != nil || answer != nil {
		return answer, err
	}
	switch mode {
	case v1alpha1.ModeRecommend:
		return p.recommendOnly(proposal), nil
	case v1alpha1.ModeAuto:
		return r.tryOut(ctx, p, measured, proposal)
	}
	// A mode that this version does not know may do the least.
	observing := well(v1alpha1.ReasonObserving, "all signals are there; set spec.mode to Recommend to see a candidate, or to Auto to try it")
	return &observing, nil
}

// recommendOnly writes down what would be tried.
func (p *pass) recommendOnly(proposal tuning.Proposal) *summary {
	standing, stands := p.recommended()
	switch {
	case p.awaitsApproval():
		return awaitingApproval()
	case proposal.Candidate == nil && proposal.OutsideDeadband && stands:
		return recommending(standing) // until the strategy has looked often enough, which it must do again under a manager that starts anew
	case proposal.Candidate == nil:
		return well(v1alpha1.ReasonTuned, proposal.Reason).asMeasured()
	case proposal.Purpose != v1alpha1.PurposePromote:
		unable := well(v1alpha1.ReasonTuned, fmt.Sprintf("strategy %s replaces pods to measure them: set spec.mode to Auto for it", p.policy.Spec.Strategy.Type))
		return &unable
	}
	p.recommend(proposal)
	return recommending(*proposal.Candidate)
}

// tryOut starts a trial of the candidate, unless something is to be waited for.
func (r *Reconciler) tryOut(ctx context.Context, p *pass, measured measurement, proposal tuning.Proposal) (*summary, error) {
	if proposal.Sweep != nil {
		p.policy.Status.Sweep = proposal.Sweep
	}
	if p.awaitsApproval() && !p.provable() {
		return awaitingApproval(), nil
	}
	if proposal.Candidate == nil {
		return well(v1alpha1.ReasonTuned, proposal.Reason).asMeasured(), nil
	}
	if cooling := p.cooling(); cooling != nil {
		return cooling, nil
	}
	return r.start(ctx, p, measured, proposal)
}

func awaitingApproval() *summary {
	waiting := well(v1alpha1.ReasonRecommended, "status.recommendation did well on too few pods for a proof: copy its settings to spec.approved to promote them, in mode Auto")
	return &waiting
}

func recommending(candidate settings.Settings) *summary {
	recommended := well(v1alpha1.ReasonRecommended, "status.recommendation has a candidate: "+candidate.Canonical())
	return &recommended
}

// cooling gives a summary while the cooldown lasts.
func (p *pass) cooling() *summary {
	until := p.policy.Status.CooldownUntil
	if until == nil || !p.now.Before(until.Time) {
		return nil
	}
	p.wait = min(p.wait, until.Sub(p.now))
	cooling := well(v1alpha1.ReasonCooldown, "the next trial may start at "+until.UTC().Format(time.RFC3339))
	return &cooling
}

func (p *pass) tuningInput(measured measurement, streak int) tuning.Input {
	status := p.policy.Status
	knobs := p.plan.knobs
	knobs.TuneProcessors = knobs.TuneProcessors && !slices.Contains(p.target.Unmanageable, settings.EnvGOMAXPROCS)
	return tuning.Input{
		Now: p.now, Baseline: p.expected, Footing: p.target.Footing, GoVersion: p.goVersion(), Knobs: knobs, Objective: p.plan.objective,
		Rules: p.plan.rules, Strategy: p.plan.strategy, Observed: measured.observed, Streak: streak + 1, History: status.History,
		Rejected: status.Rejected, Retried: p.retried(), Provable: p.provable(), Sweep: status.Sweep, Calibrated: p.calibrated(), Seed: seedOf(p.policy),
	}
}

// calibrated says that there is a calibration, which no other trial has followed: a person who asks for it after one wants another.
func (p *pass) calibrated() bool {
	calibration, history := p.calibration(), p.policy.Status.History
	return calibration != nil && (len(history) == 0 || !calibration.At.Before(&history[0].StartedAt))
}

// calibration of the target as it is; nil where there is none. How unlike each other pods are depends on their limits, and on what they run.
func (p *pass) calibration() *v1alpha1.Calibration {
	calibration := p.policy.Status.Calibration
	if calibration == nil {
		return nil
	}
	if footing, err := settings.FootingFromAPI(calibration.Footing); err != nil || footing != p.target.Footing {
		return nil
	}
	return calibration
}

// seedOf a policy: the order of its sweeps is the same, whoever asks for it.
func seedOf(policy *v1alpha1.RuntimeTuningPolicy) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%d", policy.UID, policy.Status.Trials)
	return hash.Sum64()
}

func (p *pass) goVersion() string {
	if target := p.policy.Status.Target; target != nil {
		return target.GoVersion
	}
	return ""
}

// recommend keeps a recommendation that says the same: its figures would make every look a write.
func (p *pass) recommend(proposal tuning.Proposal) {
	if recommended, ok := p.recommended(); ok && recommended == *proposal.Candidate && p.policy.Status.Recommendation.Verdict == nil {
		return
	}
	p.policy.Status.Recommendation = &v1alpha1.Recommendation{
		Settings: proposal.Candidate.API(), Reason: proposal.Reason, Predicted: proposal.Predicted.Text(), At: metav1.NewTime(p.now),
	}
}

// recommended are the settings of the recommendation, if there is one.
func (p *pass) recommended() (settings.Settings, bool) {
	recommendation := p.policy.Status.Recommendation
	if recommendation == nil {
		return settings.Settings{}, false
	}
	parsed, err := settings.FromAPI(recommendation.Settings)
	return parsed, err == nil
}

// awaitsApproval says that a trial, on the target as it is, ended with a recommendation which a person has not decided on.
func (p *pass) awaitsApproval() bool {
	recommended, ok := p.recommended()
	return ok && p.policy.Status.Recommendation.Verdict != nil && recommended != p.expected && p.recommendedOnThis()
}

// provable says that a trial on the target as it is has enough pods for a proof. What was recommended on too few is then no longer a person's to
// decide alone: the target has grown since, or the policy's last step.
func (p *pass) provable() bool { return p.plan.Unprovable(int(p.target.Replicas)) == "" }

// approved promotes what a person approved, where it is what a trial recommended, on the target as it is. The cooldown of that trial is not
// waited for, but that of a trial which went back since.
func (r *Reconciler) approved(ctx context.Context, p *pass) (*summary, error) {
	if p.policy.Spec.Mode != v1alpha1.ModeAuto || p.policy.Spec.Approved == nil || !p.awaitsApproval() {
		return nil, nil
	}
	recommended, _ := p.recommended()
	if wanted, err := settings.FromAPI(*p.policy.Spec.Approved); err != nil || wanted != recommended {
		return nil, nil
	}
	if history := p.policy.Status.History; len(history) > 0 && history[0].Result == v1alpha1.TrialReverted {
		if cooling := p.cooling(); cooling != nil {
			return cooling, nil
		}
	}
	return r.open(ctx, p, int(p.target.Replicas), func() rollout.Decision {
		return rollout.StartApproved(p.view(), rollout.Opening{
			Number: p.policy.Status.Trials, Purpose: v1alpha1.PurposePromote, Candidate: recommended, Reason: "a person approved it in spec.approved",
			Previous: *p.policy.Status.Baseline,
		})
	})
}

// start begins a trial with margins that its pods can resolve.
func (r *Reconciler) start(ctx context.Context, p *pass, measured measurement, proposal tuning.Proposal) (*summary, error) {
	margins, few := p.settleMargins(measured, proposal.Purpose)
	if few != nil {
		return few, nil
	}
	cost := p.plan.Replacements(int(p.target.Replicas), proposal.Purpose)
	return r.open(ctx, p, cost, func() rollout.Decision {
		return rollout.Start(p.view(), rollout.Opening{
			Number: p.policy.Status.Trials, Purpose: proposal.Purpose, Candidate: *proposal.Candidate, Reason: proposal.Reason,
			Previous: *p.policy.Status.Baseline, Margins: margins,
		})
	})
}

// open begins a trial that may cost so many pods, on the target as the API server has it now. The finalizer comes first: from the first slot on there is
// something to restore.
func (r *Reconciler) open(ctx context.Context, p *pass, cost int, begin func() rollout.Decision) (*summary, error) {
	if waiting := p.notNow(cost); waiting != nil {
		return waiting, nil
	}
	if waiting, err := r.tooMany(ctx, p); err != nil || waiting != nil {
		return waiting, err
	}
	proposedOn := p.target.Footing
	if err := p.load(ctx, r.Server); err != nil {
		return nil, err
	}
	infeasible := p.infeasible() != ""
	if p.refusal != nil || p.unsettledPods() || p.target.RollingOut || p.target.Scaling || p.target.Footing != proposedOn || infeasible {
		waiting := underWay(v1alpha1.ReasonWaitingForTarget, "the target has just changed")
		return &waiting, nil
	}
	if !controllerutil.ContainsFinalizer(p.policy, v1alpha1.Finalizer) {
		p.finalizer = addFinalizer
		p.unchanged = true
		return &summary{}, nil
	}
	if waiting, err := r.admit(ctx, p); err != nil || waiting != nil {
		return waiting, err
	}
	p.policy.Status.Trials++
	p.take(begin())
	return &p.summary, nil
}

// settleMargins widens the policy's margins to what its pods, as unlike each other as they are, can resolve. It gives a summary instead where
// that is more than the policy allows. A trial that only measures, or can only recommend, is not held up by that.
func (p *pass) settleMargins(measured measurement, purpose v1alpha1.TrialPurpose) ([]v1alpha1.Margin, *summary) {
	replicas := int(p.target.Replicas)
	last := len(p.plan.Steps) - 1
	margins, shortage := verdict.SettleMargins(verdict.MarginInput{
		Defaults: p.plan.margins, Max: p.plan.maxMargin, Spreads: p.spreads(measured),
		Canary: p.plan.CanaryPods(last, replicas), Control: p.plan.ControlPods(last, replicas),
	})
	if shortage == nil || purpose != v1alpha1.PurposePromote || !p.provable() {
		return margins, nil
	}
	return nil, stalled(v1alpha1.ReasonTooFewPods, tooFewPods(*shortage, p.plan.maxMargin)).asMeasured()
}

func tooFewPods(shortage verdict.Shortage, most float64) string {
	cure := "no number of pods would do: see why they are so unlike each other, or raise spec.analysis.margins.max"
	if shortage.Pods > 0 {
		cure = fmt.Sprintf("%d pods in each cohort would do: raise the replicas, or spec.analysis.margins.max", shortage.Pods)
	}
	return fmt.Sprintf("the pods differ so much in %s, all with the same settings, that only a change of %.0f%% would show, and %.3g%% is allowed: %s",
		shortage.Signal, 100*shortage.Margin, 100*most, cure)
}

// spreads are how unlike each other the pods are: as the last calibration of the target as it is showed, else as they are now, at rest.
func (p *pass) spreads(measured measurement) []v1alpha1.Spread {
	if calibration := p.calibration(); calibration != nil && len(calibration.Spreads) > 0 {
		return calibration.Spreads
	}
	return verdict.Spreads(&measured.window, measured.members)
}
