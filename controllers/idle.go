package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/internal/workload"
)

// maxIdleWindow bounds the window in which a target without a trial is measured.
const maxIdleWindow = 10 * time.Minute

// idle goes through what may keep a trial from starting, and starts one where nothing does. The first answer is the summary.
func (r *Reconciler) idle(ctx context.Context, p *pass) error {
	for _, ask := range []func(context.Context, *pass) (*summary, error){
		r.refused, r.conflicted, suspended, r.repair, waitForTarget, tooFewReplicas, r.measureAndPropose,
	} {
		answer, err := ask(ctx, p)
		if err != nil {
			return err
		}
		if answer != nil {
			p.summary = *answer
			break
		}
	}
	if p.summary.reason != v1alpha1.ReasonRecommended {
		p.policy.Status.Recommendation = nil
	}
	return nil
}

func (r *Reconciler) refused(_ context.Context, p *pass) (*summary, error) {
	for _, refusal := range []*workload.Refusal{p.misconfigured, p.refusal} {
		if refusal != nil {
			refused := stalled(refusal.Reason, refusal.Message)
			return &refused, nil
		}
	}
	return nil, nil
}

func (r *Reconciler) conflicted(ctx context.Context, p *pass) (*summary, error) {
	ruling, err := r.ruling(ctx, p.policy)
	if err != nil {
		return nil, err
	}
	if ruling != "" {
		conflict := stalled(v1alpha1.ReasonConflicted, fmt.Sprintf("policy %s is older and names the same target: delete one of the two", ruling))
		return &conflict, nil
	}
	p.settleBaseline()
	return nil, nil
}

func suspended(_ context.Context, p *pass) (*summary, error) {
	if p.policy.Spec.Suspend == v1alpha1.SuspendNone || p.policy.Spec.Suspend == "" {
		return nil, nil
	}
	paused := well(v1alpha1.ReasonSuspended, "spec.suspend is "+string(p.policy.Spec.Suspend)+": no trial starts")
	return &paused, nil
}

func waitForTarget(_ context.Context, p *pass) (*summary, error) {
	if !p.target.RollingOut && !p.target.Scaling {
		return nil, nil
	}
	waiting := underWay(v1alpha1.ReasonWaitingForTarget, "a rollout or scaling of the target is going on")
	return &waiting, nil
}

func tooFewReplicas(_ context.Context, p *pass) (*summary, error) {
	if p.policy.Spec.Mode != v1alpha1.ModeAuto {
		return nil, nil
	}
	if reason := p.plan.Feasible(int(p.target.Replicas)); reason != "" {
		few := stalled(v1alpha1.ReasonTooFewReplicas, reason)
		return &few, nil
	}
	return nil, nil
}

// measurement is what a window shows of a target at rest.
type measurement struct {
	window  signal.Window
	members []verdict.Member
	pods    []signal.Pod
	cost    tuning.Cost
}

func (r *Reconciler) measureAndPropose(ctx context.Context, p *pass) (*summary, error) {
	measured, answer, err := r.measure(ctx, p)
	if err != nil || answer != nil {
		return answer, err
	}
	if p.policy.Spec.Mode == v1alpha1.ModeObserve {
		observing := well(v1alpha1.ReasonObserving, "all signals are there; set spec.mode to Recommend to see a candidate, or to Auto to try it")
		return &observing, nil
	}
	if answer := p.baselineSLOs(measured); answer != nil {
		return answer, nil
	}
	return r.propose(ctx, p, measured.cost)
}

// measure asks Prometheus for the target at rest. Pods that are younger than the window are left out: their start lies in it.
func (r *Reconciler) measure(ctx context.Context, p *pass) (measurement, *summary, error) {
	length := min(max(p.recentLength, 10*p.plan.Interval), maxIdleWindow)
	length = max(length, p.recentLength)
	m := measurement{}
	var names []string
	for _, pod := range p.target.Pods {
		if pod.Ready && !pod.Terminating && p.now.Sub(pod.ReadyChangedAt) >= length {
			m.members = append(m.members, verdict.Member{Name: pod.Name, Health: pod.Health})
			names = append(names, pod.Name)
		}
	}
	if len(m.members) == 0 {
		young := underWay(v1alpha1.ReasonWaitingForTarget, fmt.Sprintf("no pod has been ready for %s yet, the window to measure", length))
		return m, &young, nil
	}
	window, err := r.observe(ctx, p, length)
	if err != nil {
		answer, err := prometheusTrouble(err)
		return m, answer, err
	}
	m.window = window
	for _, name := range names {
		m.pods = append(m.pods, window.Pods[name])
	}
	if answer := p.gaps(m, names); answer != nil {
		return m, answer, nil
	}
	return m, r.fitForUse(p, &m), nil
}

func prometheusTrouble(err error) (*summary, error) {
	var rejected *prometheus.RejectedError
	var unavailable *prometheus.UnavailableError
	switch {
	case errors.As(err, &unavailable), errors.Is(err, context.DeadlineExceeded):
		down := unwell(v1alpha1.ReasonPrometheusUnavailable, "Prometheus does not answer: see its address in the manager's configuration, and the metric gopacer_prometheus_queries_total")
		return &down, nil
	case errors.As(err, &rejected):
		down := unwell(v1alpha1.ReasonPrometheusUnavailable, "Prometheus rejects the query: "+rejected.Error())
		return &down, nil
	default:
		return nil, err
	}
}

// gaps names what the target does not expose.
func (p *pass) gaps(m measurement, names []string) *summary {
	for _, gap := range signal.Missing(p.request(m.window.Length), m.window, names) {
		reason := v1alpha1.ReasonSignalUnavailable
		switch {
		case gap.Kind == signal.GapErrors && !p.hasErrorsSLO():
			continue
		case gap.Kind == signal.GapErrors, gap.Kind == signal.GapLatency && len(p.plan.SLOs) > 0:
			reason = v1alpha1.ReasonSLOUnmeasured
		}
		missing := stalled(reason, gap.Message)
		return &missing
	}
	return nil
}

func (p *pass) hasErrorsSLO() bool {
	for _, slo := range p.plan.SLOs {
		if slo.ThresholdSeconds == 0 {
			return true
		}
	}
	return false
}

// fitForUse says whether the numbers can carry a decision, and keeps what they cost.
func (r *Reconciler) fitForUse(p *pass, m *measurement) *summary {
	requests := 0.0
	for i, pod := range m.pods {
		if !pod.Fresh(m.window.MaxSampleAge(), verdict.MinCoverage) {
			stale := unwell(v1alpha1.ReasonPrometheusUnavailable, fmt.Sprintf("Prometheus has no fresh samples of pod %s: see that it is scraped", m.members[i].Name))
			return &stale
		}
		if pod.Requests.OK() {
			requests += pod.Requests.Number
		}
	}
	if requests < verdict.MinRequests {
		quiet := unwell(v1alpha1.ReasonNoTraffic, fmt.Sprintf("fewer than %d requests in %s: nothing can be judged", verdict.MinRequests, m.window.Length))
		return &quiet
	}
	cost, ok := tuning.MeasureCost(m.pods)
	if !ok {
		unmeasured := stalled(v1alpha1.ReasonSignalUnavailable, "no pod has GC CPU time, CPU time and resident memory at once")
		return &unmeasured
	}
	m.cost = cost
	r.Metrics.sawGCShare(p.name(), cost.GCShare)
	return nil
}

// baselineSLOs keeps trials away from a target that is in trouble already, and from objectives that the histogram can't decide.
func (p *pass) baselineSLOs(m measurement) *summary {
	for _, slo := range p.plan.SLOs {
		check := verdict.OnPods(slo, &m.window, m.members)
		switch {
		case check.Outcome == v1alpha1.OutcomeFail:
			breach := unwell(v1alpha1.ReasonBaselineBreachesSLO, fmt.Sprintf("the target breaks its objective %q without any trial: no setting is tried until it holds", slo.Name))
			return &breach
		case check.Reason == v1alpha1.ReasonCoarseBuckets:
			coarse := stalled(v1alpha1.ReasonSLOUnmeasured, fmt.Sprintf("objective %q lies between two buckets of the histogram and can't be decided: "+
				"set its threshold to an edge, or give the histogram a bucket there", slo.Name))
			return &coarse
		case check.Outcome == v1alpha1.OutcomeInvalid && check.Reason == v1alpha1.ReasonNoData:
			unmeasured := stalled(v1alpha1.ReasonSLOUnmeasured, fmt.Sprintf("objective %q can't be measured: %s", slo.Name, check.Message))
			return &unmeasured
		}
	}
	return nil
}

func (r *Reconciler) propose(ctx context.Context, p *pass, cost tuning.Cost) (*summary, error) {
	proposal := tuning.Propose(tuning.Input{
		Now: p.now, Baseline: p.expected, Footing: p.target.Footing, Knobs: p.plan.knobs,
		MinGain: p.plan.Gain.MinShare, MinCPUGain: p.plan.Gain.MinCPUShare, Cost: cost, Manual: p.plan.manual, History: p.policy.Status.History,
	})
	switch {
	case proposal.Candidate == nil:
		tuned := well(v1alpha1.ReasonTuned, proposal.Reason)
		return &tuned, nil
	case p.policy.Spec.Mode == v1alpha1.ModeRecommend:
		p.recommend(proposal)
		recommended := well(v1alpha1.ReasonRecommended, "status.recommendation has a candidate: "+proposal.Candidate.Canonical())
		return &recommended, nil
	}
	if until := p.policy.Status.CooldownUntil; until != nil && p.now.Before(until.Time) {
		p.wait = min(p.wait, until.Sub(p.now))
		cooling := well(v1alpha1.ReasonCooldown, "the next trial may start at "+until.UTC().Format(time.RFC3339))
		return &cooling, nil
	}
	return r.start(ctx, p, *proposal.Candidate, proposal.Reason)
}

// recommend keeps a recommendation that says the same: its figures would make every look a write.
func (p *pass) recommend(proposal tuning.Proposal) {
	if old := p.policy.Status.Recommendation; old != nil {
		if settled, err := settings.FromAPI(old.Settings); err == nil && settled == *proposal.Candidate {
			return
		}
	}
	p.policy.Status.Recommendation = &v1alpha1.Recommendation{
		Settings: proposal.Candidate.API(), Reason: proposal.Reason, At: metav1.NewTime(p.now),
	}
}

// start begins a trial on the target as the API server has it now. The finalizer comes first: from the first slot on there is
// something to restore.
func (r *Reconciler) start(ctx context.Context, p *pass, candidate settings.Settings, reason string) (*summary, error) {
	proposedOn := p.target.Footing
	if err := p.load(ctx, r.Server); err != nil {
		return nil, err
	}
	if p.refusal != nil || p.target.RollingOut || p.target.Scaling || p.target.Footing != proposedOn {
		waiting := underWay(v1alpha1.ReasonWaitingForTarget, "the target has just changed")
		return &waiting, nil
	}
	if !controllerutil.ContainsFinalizer(p.policy, v1alpha1.Finalizer) {
		p.finalizer = addFinalizer
		p.unchanged = true
		return &summary{}, nil
	}
	p.policy.Status.Trials++
	p.take(rollout.Start(p.view(), p.policy.Status.Trials, candidate, reason, *p.policy.Status.Baseline))
	return &p.summary, nil
}
