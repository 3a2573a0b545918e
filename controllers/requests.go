package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// maxRequestValue is what the CRD admits of the value that status.handled echoes.
const maxRequestValue = 253

// requests are those that a person has made and nobody has handled. What becomes of one is written with its echo, in one write: a manager that dies
// before has done nothing, and one that comes after finds nothing to do.
type requests map[v1alpha1.Request]string

var requestAnnotations = []struct {
	request    v1alpha1.Request
	annotation string
}{
	{v1alpha1.RequestAbort, v1alpha1.AnnotationAbort},
	{v1alpha1.RequestPromote, v1alpha1.AnnotationPromote},
	{v1alpha1.RequestRetry, v1alpha1.AnnotationRetry},
}

func newRequests(policy *v1alpha1.RuntimeTuningPolicy) requests {
	found := requests{}
	for _, known := range requestAnnotations {
		value, made := policy.Annotations[known.annotation]
		if handled := handledRequest(policy, known.request); made && (handled == nil || handled.Value != cutValue(value)) {
			found[known.request] = value
		}
	}
	return found
}

func (r requests) has(request v1alpha1.Request) bool {
	_, made := r[request]
	return made
}

func handledRequest(policy *v1alpha1.RuntimeTuningPolicy, request v1alpha1.Request) *v1alpha1.HandledRequest {
	for i := range policy.Status.Handled {
		if policy.Status.Handled[i].Request == request {
			return &policy.Status.Handled[i]
		}
	}
	return nil
}

func cutValue(value string) string {
	if runes := []rune(value); len(runes) > maxRequestValue {
		return string(runes[:maxRequestValue])
	}
	return value
}

// refuseLongRequests handles those whose value can't be echoed, and so could not be told from the next.
func (p *pass) refuseLongRequests() {
	for request, value := range p.requests {
		if value != cutValue(value) {
			p.handled(request, fmt.Sprintf("refused: the value is longer than %d characters", maxRequestValue))
		}
	}
}

// handled echoes a request with what became of it.
func (p *pass) handled(request v1alpha1.Request, result string) {
	value, made := p.requests[request]
	if !made {
		return
	}
	delete(p.requests, request)
	echo := v1alpha1.HandledRequest{Request: request, Value: cutValue(value), At: metav1.NewTime(p.now), Result: rollout.Truncate(result)}
	status := &p.policy.Status
	status.Handled = slices.DeleteFunc(status.Handled, func(old v1alpha1.HandledRequest) bool { return old.Request == request })
	status.Handled = append(status.Handled, echo)
	slices.SortFunc(status.Handled, func(a, b v1alpha1.HandledRequest) int { return cmp.Compare(a.Request, b.Request) })
	p.decision.Events = append(p.decision.Events, rollout.Event{Reason: v1alpha1.EventRequestHandled, Message: fmt.Sprintf("%s: %s", request, result)})
}

// retry lets the next look try what it would: no cooldown is left, and no candidate is held for a failure.
func (p *pass) retry() {
	if !p.requests.has(v1alpha1.RequestRetry) {
		return
	}
	p.policy.Status.CooldownUntil, p.policy.Status.Rejected = nil, nil
	p.handled(v1alpha1.RequestRetry, "the cooldown is over, and what was rejected may be tried again")
}

// retried is when a person last asked for another try: what failed before is not held against a candidate.
func (p *pass) retried() time.Time {
	if handled := handledRequest(p.policy, v1alpha1.RequestRetry); handled != nil {
		return handled.At.Time
	}
	return time.Time{}
}

// answerIdle handles requests that need a trial where none runs.
func (p *pass) answerIdle() {
	p.handled(v1alpha1.RequestAbort, "no trial runs")
	nothing := "no trial runs"
	if p.awaitsApproval() {
		nothing += "; to accept status.recommendation, copy its settings to spec.approved"
	}
	p.handled(v1alpha1.RequestPromote, nothing)
}

// answerTrial handles requests about a trial, once it is decided what becomes of that.
func (p *pass) answerTrial(before v1alpha1.Trial) {
	trial, end := p.policy.Status.Trial, before.End
	switch {
	case trial == nil:
		p.handled(v1alpha1.RequestAbort, fmt.Sprintf("trial %d has just ended: %s", before.Number, p.decision.Record.Reason))
	case end != nil:
		p.handled(v1alpha1.RequestAbort, fmt.Sprintf("trial %d goes back already: %s", trial.Number, end.Reason))
	case trial.End != nil:
		p.handled(v1alpha1.RequestAbort, fmt.Sprintf("trial %d goes back: %s", trial.Number, trial.End.Reason))
	}
	p.handled(v1alpha1.RequestPromote, p.promoteAnswer(before))
}

// promoteAnswer says what became of a request to promote.
func (p *pass) promoteAnswer(before v1alpha1.Trial) string {
	trial := p.policy.Status.Trial
	switch {
	case trial == nil:
		return fmt.Sprintf("trial %d has just ended: %s", before.Number, p.decision.Record.Reason)
	case trial.Stage == v1alpha1.StageReverting:
		return fmt.Sprintf("refused: trial %d goes back", trial.Number)
	case before.Stage == v1alpha1.StagePromoting:
		return fmt.Sprintf("trial %d is promoted already", trial.Number)
	case trial.Stage == v1alpha1.StagePromoting:
		return fmt.Sprintf("trial %d is promoted", trial.Number)
	}
	switch {
	case trial.PassedAt != nil && p.held() != "":
		return fmt.Sprintf("refused: trial %d is held: %s", trial.Number, p.held())
	case trial.PassedAt != nil && trial.Verdict != nil:
		return fmt.Sprintf("refused: the latest verdict of trial %d is %s: %s", trial.Number, trial.Verdict.Outcome, trial.Verdict.Message)
	}
	return fmt.Sprintf("refused: trial %d is in step %d of %d, and nothing is promoted without a pass of every step", trial.Number,
		min(int(trial.Step)+1, len(p.plan.Steps)), len(p.plan.Steps))
}
