// Package admission gives new pods their settings: the baseline, or, to as many as a trial has slots for, the candidate.
package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
)

// Path is where the webhook configuration sends pods.
const Path = "/mutate-pods"

// liveTimeout bounds the one question to the API server, well within the two seconds that the webhook configuration allows.
const liveTimeout = 700 * time.Millisecond

// resultError is the metric's result where something went wrong; the pod starts with the baseline, or with what it declares.
const resultError = "error"

// Handler answers for new pods. It never denies one: whatever goes wrong, the pod starts with what is proven, or as declared.
type Handler struct {
	policies    Policies
	grants      *grants
	admissions  *prometheus.CounterVec
	liveTimeout time.Duration
}

var _ admission.Handler = (*Handler)(nil)

// NewHandler returns a handler that counts what it does in the registerer.
func NewHandler(policies Policies, clock clock.PassiveClock, registerer prometheus.Registerer) (*Handler, error) {
	admissions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gopacer_admissions_total",
		Help: "New pods of tuned workloads, by what they start with: the declared settings, the baseline or a candidate; error where a policy could not be read.",
	}, []string{"result"})
	if err := registerer.Register(admissions); err != nil {
		return nil, fmt.Errorf("register the metric of admissions: %w", err)
	}
	for _, result := range []string{string(ResultDeclared), string(ResultBaseline), string(ResultCanary), resultError} {
		admissions.WithLabelValues(result)
	}
	return &Handler{policies: policies, grants: newGrants(clock), admissions: admissions, liveTimeout: liveTimeout}, nil
}

// Webhook is the handler as a webhook server takes it. A panic is left to net/http, which drops the connection: to the API server the call has
// failed, and failurePolicy Ignore lets the pod start. controller-runtime would answer with an error instead, and that denies the pod.
func (h *Handler) Webhook() *admission.Webhook {
	return (&admission.Webhook{Handler: h}).WithRecoverPanic(false)
}

// Handle implements admission.Handler.
func (h *Handler) Handle(ctx context.Context, request admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		logf.FromContext(ctx).Error(err, "Read a new pod; it starts as it is", "namespace", request.Namespace)
		h.admissions.WithLabelValues(resultError).Inc()
		return admission.Allowed("")
	}
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return admission.Allowed("")
	}
	before := pod.DeepCopy()
	Undo(&pod)
	Strip(&pod)
	decision, err := h.decide(ctx, request, &pod)
	h.count(ctx, request, decision, err)
	decision.Write(&pod)
	return patch(before, &pod)
}

// decide reads what is needed. Along with an error it returns what the pod starts with all the same.
func (h *Handler) decide(ctx context.Context, request admission.Request, pod *corev1.Pod) (Decision, error) {
	policy, err := h.ruling(ctx, request.Namespace, pod)
	if policy == nil {
		return Decision{}, err
	}
	_, open := Candidate(pod, policy)
	if !open || ptr.Deref(request.DryRun, false) {
		return Decide(pod, policy), nil
	}
	return h.decideLive(ctx, pod, policy)
}

// ruling is the policy that rules the pod's target; nil where there is none.
func (h *Handler) ruling(ctx context.Context, namespace string, pod *corev1.Pod) (*v1alpha1.RuntimeTuningPolicy, error) {
	targets, _ := workload.TargetsOf(pod)
	for _, target := range targets {
		policies, err := h.policies.ForTarget(ctx, namespace, target)
		if err != nil {
			return nil, err
		}
		if policy := workload.Ruling(policies); policy != nil {
			return policy, nil
		}
	}
	return nil, nil
}

// decideLive grants a slot by what the API server says now: the cache may not have heard yet that the slots are closed.
func (h *Handler) decideLive(ctx context.Context, pod *corev1.Pod, cached *v1alpha1.RuntimeTuningPolicy) (Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, h.liveTimeout)
	defer cancel()
	live, err := h.policies.Live(ctx, types.NamespacedName{Namespace: cached.Namespace, Name: cached.Name})
	switch {
	case apierrors.IsNotFound(err):
		return Decision{Result: ResultDeclared}, nil
	case err != nil:
		return Decide(pod, cached), err
	}
	if offer, open := Candidate(pod, live); open {
		for _, slot := range offer.Slots {
			if pod.Name != "" || h.grants.claim(live.UID, slot) { // no other pod can have the name
				return offer.Canary(slot), nil
			}
		}
	}
	return Decide(pod, live), nil
}

func (h *Handler) count(ctx context.Context, request admission.Request, decision Decision, err error) {
	log := logf.FromContext(ctx).WithValues("namespace", request.Namespace, "result", decision.Result)
	switch {
	case err != nil:
		log.Error(err, "Decide what a new pod starts with")
		h.admissions.WithLabelValues(resultError).Inc()
	case decision.Result != "":
		log.V(1).Info("A new pod starts", "policy", decision.Policy, "settings", decision.Settings.Canonical(), "slot", decision.Slot)
		h.admissions.WithLabelValues(string(decision.Result)).Inc()
	}
}

// patch is the difference of two pods as this program knows them. Compared with the request's own bytes it would remove every field that a newer
// API server knows and this program does not.
func patch(before, after *corev1.Pod) admission.Response {
	from, err := json.Marshal(before)
	if err != nil {
		return admission.Allowed("")
	}
	to, err := json.Marshal(after)
	if err != nil {
		return admission.Allowed("")
	}
	response := admission.PatchResponseFromRaw(from, to)
	if !response.Allowed {
		return admission.Allowed("")
	}
	return response
}
