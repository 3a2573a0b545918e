package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

// maxIdleWindow bounds the window in which a target without a trial is measured.
const maxIdleWindow = 10 * time.Minute

// gatherWait is the wait for the next look while the first window is still being gathered: each gets further.
const gatherWait = 2 * time.Second

// measurement is what a window shows of a target at rest.
type measurement struct {
	// asked is the length of the window that was asked for; the window's own may be a little off.
	asked    time.Duration
	window   signal.Window
	members  []verdict.Member
	pods     []signal.Pod
	observed tuning.Observation
}

func (r *Reconciler) measureAndPropose(ctx context.Context, p *pass) (*summary, error) {
	measured, answer, err := r.measure(ctx, p)
	if err != nil || answer != nil {
		return answer, err
	}
	p.showMeasured(measured)
	if answer := p.baselineLimits(measured); answer != nil {
		return answer, nil
	}
	return r.propose(ctx, p, measured)
}

// measure asks Prometheus for the target at rest. Pods that are younger than the window are left out: their start lies in it.
func (r *Reconciler) measure(ctx context.Context, p *pass) (measurement, *summary, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	length := max(p.recentLength, min(10*p.plan.Interval, maxIdleWindow))
	m := measurement{asked: length}
	var names []string
	resized := 0
	for _, pod := range p.target.Pods {
		if pod.Revision == p.target.Revision && pod.ResizedFrom(p.target.Footing) {
			resized++
			continue // what is right for it is not right for its successor
		}
		if pod.Ready && !pod.Terminating && p.now.Sub(pod.ReadyChangedAt) >= length {
			m.members = append(m.members, rollout.MemberOf(pod))
			names = append(names, pod.Name)
		}
	}
	if len(m.members) == 0 && resized > 0 && resized >= int(p.target.Replicas) {
		other := stalled(v1alpha1.ReasonResized, "all pods were resized to another memory limit than the template declares, which their successors start with: "+
			"declare the limit that they have, or switch off what resizes them")
		return m, &other, nil
	}
	if len(m.members) == 0 {
		young := underWay(v1alpha1.ReasonWaitingForTarget, fmt.Sprintf("no pod has been ready for %s yet, the window to measure", length))
		return m, &young, nil
	}
	window, err := r.observe(ctx, p, length)
	if err != nil {
		p.trouble = err
		if errors.Is(err, prometheus.ErrGathering) {
			p.wait = min(p.wait, gatherWait)
		}
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

// prometheusTrouble says nothing of the one query that failed: several are asked at once, so that it is another each time.
func prometheusTrouble(err error) (*summary, error) {
	var rejected *prometheus.RejectedError
	var unavailable *prometheus.UnavailableError
	switch {
	case errors.Is(err, prometheus.ErrGathering):
		gathering := underWay(v1alpha1.ReasonWaitingForTarget, "gathering the first window of samples")
		return &gathering, nil
	case errors.As(err, &unavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSilent):
		down := unwell(v1alpha1.ReasonPrometheusUnavailable, "Prometheus does not answer: see its address in the manager's configuration, and the metric gopacer_prometheus_queries_total")
		return &down, nil
	case errors.As(err, &rejected):
		down := unwell(v1alpha1.ReasonPrometheusUnavailable, fmt.Sprintf("Prometheus provider %s refuses the query: see its address and "+
			"credentials in the manager's configuration, and the manager's log", rejected.Provider))
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
		quiet := unwell(v1alpha1.ReasonNoTraffic, fmt.Sprintf("fewer than %d requests in %s: nothing can be judged", verdict.MinRequests, m.asked))
		return &quiet
	}
	observed, ok := tuning.Observe(m.window, m.pods)
	if !ok {
		unmeasured := stalled(v1alpha1.ReasonSignalUnavailable, "no pod has GC CPU time, CPU time and resident memory at once")
		return &unmeasured
	}
	m.observed = observed
	r.Metrics.sawGCShare(p.name(), observed.GCShare.Number)
	return nil
}

// showMeasured writes down what was found of the target that changes with its image only.
func (p *pass) showMeasured(m measurement) {
	target := p.policy.Status.Target
	if target == nil {
		return
	}
	for _, pod := range m.pods {
		if pod.GoVersion != "" {
			target.GoVersion = pod.GoVersion
			break
		}
	}
	if m.window.LatencyFound != "" {
		target.Latency = m.window.LatencyFound
	}
}

// baselineLimits keeps trials away from a target of which far too many requests fail, whatever its objectives.
func (p *pass) baselineLimits(m measurement) *summary {
	breaker := verdict.OnPods(verdict.SLO{Name: "breaker", AllowedShare: p.plan.Breaker.Share}, &m.window, m.members)
	if breaker.Outcome == v1alpha1.OutcomeFail {
		open := unwell(v1alpha1.ReasonBreakerOpen, "more requests fail than spec.analysis.breaker.errors: no setting is tried until it is over")
		return &open
	}
	return p.baselineSLOs(m)
}

// baselineSLOs keeps trials away from a target that is in trouble already, and from objectives that the histogram can't decide.
func (p *pass) baselineSLOs(m measurement) *summary {
	for _, slo := range p.plan.SLOs {
		if fault := m.window.QueryFaults[slo.Name]; fault != "" {
			unusable := stalled(v1alpha1.ReasonSLOUnmeasured, fault)
			return &unusable
		}
		check := verdict.OnPods(slo, &m.window, m.members)
		switch {
		case check.Outcome == v1alpha1.OutcomeFail:
			return p.breached(slo.Name, m)
		case check.Reason == v1alpha1.ReasonCoarseBuckets:
			coarse := stalled(v1alpha1.ReasonSLOUnmeasured, fmt.Sprintf("objective %q lies between two buckets of the histogram and can't be decided: "+
				"set its threshold to an edge, or give the histogram a bucket there", slo.Name))
			return &coarse
		case check.Outcome == v1alpha1.OutcomeInvalid && check.Reason == v1alpha1.ReasonNoData:
			unmeasured := stalled(v1alpha1.ReasonSLOUnmeasured, fmt.Sprintf("objective %q can't be measured: no pod has usable requests for it", slo.Name))
			return &unmeasured
		}
	}
	return nil
}

// breached tells of an objective that is broken without any trial, and of the cause first, where it is seen.
func (p *pass) breached(objective string, m measurement) *summary {
	message := fmt.Sprintf("the target breaks its objective %q without any trial: no setting is tried until it holds", objective)
	if reason, cause := tuning.Diagnose(p.tuningInput(m, 0)); reason != "" {
		return unwell(reason, cause+"; "+message).asMeasured()
	}
	breach := unwell(v1alpha1.ReasonBaselineBreachesSLO, message)
	return &breach
}
