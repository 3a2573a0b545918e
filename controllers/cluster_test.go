package controllers

import (
	"cmp"
	"encoding/json"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// settle plays the controllers of workloads and the kubelet: as many pods as asked for, all ready. Pods that are handed over are not their own.
func (w *world) settle() {
	w.t.Helper()
	var replicaSets appsv1.ReplicaSetList
	w.must(w.server.List(w.t.Context(), &replicaSets, client.InNamespace(w.namespace)))
	for i := range replicaSets.Items {
		set := &replicaSets.Items[i]
		owned := w.owned(set)
		for have := len(owned); have < int(*set.Spec.Replicas); have++ {
			w.createPod(set, "ReplicaSet", set.Spec.Template, "")
		}
		slices.SortFunc(owned, func(a, b corev1.Pod) int { return cmp.Compare(rank(&a), rank(&b)) })
		for _, pod := range owned[:max(0, len(owned)-int(*set.Spec.Replicas))] {
			w.must(w.server.Delete(w.t.Context(), &pod))
		}
	}
	w.settleSets()
}

func (w *world) living(owner client.Object) int32 { return int32(len(w.owned(owner))) }

func (w *world) owned(owner client.Object) []corev1.Pod {
	return slices.DeleteFunc(w.pods(), func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, owner) || pod.DeletionTimestamp != nil })
}

// rank of a pod among those to drop: those that are not ready come first, then those with a low deletion cost.
func rank(pod *corev1.Pod) int {
	rank := 0
	if len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == corev1.ConditionTrue {
		rank += 2
	}
	if pod.Annotations[corev1.PodDeletionCost] == "" {
		rank++
	}
	return rank
}

// createPod asks for a pod as the owner's controller does; the name is empty where the API server makes one.
func (w *world) createPod(owner client.Object, kind string, template corev1.PodTemplateSpec, name string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: owner.GetName() + "-", Namespace: w.namespace, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if !w.withoutAdmission {
		pod = w.admit(pod)
	}
	switch err := w.create(pod); {
	case apierrors.IsAlreadyExists(err):
		return // the slot is taken; a ReplicaSet tries again
	case err != nil:
		w.t.Fatalf("create a pod: %v", err)
	}
	w.lens.see(pod.UID)
	w.ready(pod, corev1.ConditionTrue)
}

func (w *world) ready(pod *corev1.Pod, ready corev1.ConditionStatus) {
	w.t.Helper()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(w.clock.Now())}}
	if w.kubelet != nil {
		w.kubelet(pod)
	}
	w.must(w.server.Status().Update(w.t.Context(), pod))
}

// admit asks the webhook's handler, as the API server does.
func (w *world) admit(pod *corev1.Pod) *corev1.Pod {
	w.t.Helper()
	raw, err := json.Marshal(pod)
	w.must(err)
	response := w.handler.Handle(w.t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "request", Namespace: w.namespace, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}})
	operations, err := json.Marshal(response.Patches)
	w.must(err)
	patch, err := jsonpatch.DecodePatch(operations)
	w.must(err)
	raw, err = patch.Apply(raw)
	w.must(err)
	admitted := &corev1.Pod{}
	w.must(json.Unmarshal(raw, admitted))
	return admitted
}

// pods of the namespace.
func (w *world) pods() []corev1.Pod {
	w.t.Helper()
	var pods corev1.PodList
	w.must(w.server.List(w.t.Context(), &pods, client.InNamespace(w.namespace)))
	return pods.Items
}

// gogc is what the target's pods run, by pod name.
func (w *world) gogc() map[string]string {
	found := map[string]string{}
	for _, pod := range w.pods() {
		found[pod.Name] = envOf(&pod, "GOGC")
	}
	return found
}

func (w *world) running(gogc string) int {
	count := 0
	for _, value := range w.gogc() {
		if value == gogc {
			count++
		}
	}
	return count
}

func envOf(pod *corev1.Pod, name string) string {
	for _, entry := range pod.Spec.Containers[0].Env {
		if entry.Name == name {
			return entry.Value
		}
	}
	return ""
}

// versions are the resource versions of all pods, by UID: what is untouched has the same.
func (w *world) versions() map[types.UID]string {
	found := map[types.UID]string{}
	for _, pod := range w.pods() {
		found[pod.UID] = pod.ResourceVersion
	}
	return found
}
