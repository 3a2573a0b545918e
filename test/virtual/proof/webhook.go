package proof

import (
	"encoding/json"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	instrument "github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	webhookadmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gopacer/gopacer/internal/admission"
	"github.com/gopacer/gopacer/test/virtual/api"
)

// webhook is one replica of the pod webhook, with a cache of its own.
type webhook struct {
	handler *admission.Handler
	lag     time.Duration
	// unreachable says that it can't ask the API server itself.
	unreachable bool
}

func (r *run) startWebhooks() {
	for range r.scenario.webhooks {
		w := &webhook{}
		cached, server := r.cluster.Server.Client("webhook"), r.cluster.Server.Client("webhook")
		cached.Cache = r.cluster.Server.NewCache(func(schema.GroupVersionKind) time.Duration { return 20*time.Millisecond + w.lag })
		server.Through = func(_ *api.Call, do func() error) error {
			if w.unreachable {
				return errUnreachable
			}
			return do()
		}
		handler, err := admission.NewHandler(admission.ClusterPolicies{Cache: cached, Server: server}, r.cluster, instrument.NewRegistry())
		if err != nil {
			panic(err) // a new registry refuses nothing
		}
		w.handler = handler
		r.webhooks = append(r.webhooks, w)
	}
}

// admit is the API server's question to the webhook. Whatever goes wrong, the pod starts as it is: failurePolicy is Ignore.
func (r *run) admit(pod *corev1.Pod) *corev1.Pod {
	r.handled++
	if r.weather.webhookDown || len(r.webhooks) == 0 {
		return pod
	}
	seen := r.granting(pod)
	admitted := r.ask(seen)
	r.witness.admitted(seen, admitted)
	if seen != pod {
		admitted = misgranted(admitted, pod)
	}
	if r.weather.webhookUndone {
		for i := range admitted.Spec.Containers[0].Env {
			if variable := &admitted.Spec.Containers[0].Env[i]; variable.Name == "GOGC" {
				variable.Value = "33"
			}
		}
	}
	return admitted
}

func (r *run) ask(pod *corev1.Pod) *corev1.Pod {
	raw, err := json.Marshal(pod)
	if err != nil {
		panic(err)
	}
	one := r.webhooks[r.random.IntN(len(r.webhooks))]
	response := one.handler.Handle(r.ctx, webhookadmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "request", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: pod.Namespace, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: raw},
	}})
	if !response.Allowed || len(response.Patches) == 0 {
		return pod
	}
	text, err := json.Marshal(response.Patches)
	if err != nil {
		panic(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		panic(err)
	}
	patched, err := patch.Apply(raw)
	if err != nil {
		r.witness.violate("I7", "the webhook's patch can't be applied: %v", err)
		return pod
	}
	admitted := &corev1.Pod{}
	if err := json.Unmarshal(patched, admitted); err != nil {
		panic(err)
	}
	return admitted
}
