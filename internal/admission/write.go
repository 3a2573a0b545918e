package admission

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
)

// Strip takes what only gopacer may write off a new pod. It comes along with copies: kubectl debug --copy-to, a template made from a running pod.
func Strip(pod *corev1.Pod) {
	delete(pod.Labels, v1alpha1.LabelPolicy)
	delete(pod.Labels, v1alpha1.LabelCohort)
	delete(pod.Annotations, v1alpha1.AnnotationSettings)
	delete(pod.Annotations, v1alpha1.AnnotationDeclared)
}

// Undo takes the baseline off a new pod that the MutatingAdmissionPolicy gave it a moment before, so that what a pod starts with is decided on
// what it declares. What another webhook wrote in between stays. A template that was made from such a pod carries another owner's UID: what it
// brings along was not written now.
func Undo(pod *corev1.Pod) {
	owner := metav1.GetControllerOf(pod)
	note := strings.SplitN(pod.Annotations[v1alpha1.AnnotationDeclared], "/", 3)
	if owner == nil || len(note) < 3 || note[0] != string(owner.UID) {
		return
	}
	tuned := container(pod, note[1])
	if tuned == nil {
		return
	}
	declared, err := settings.ParseCanonical(note[2])
	if err != nil {
		return
	}
	given, err := settings.ParseCanonical(pod.Annotations[v1alpha1.AnnotationSettings])
	if err != nil {
		return
	}
	if found, err := settings.Declared(tuned); err == nil {
		tuned.Env = found.Undo(given, declared).Apply(tuned.Env)
	}
}

// Write carries a decision out on a pod: the environment of one container, the marks for people, and the name of a canary that has none.
func (d Decision) Write(pod *corev1.Pod) {
	if d.Result != ResultBaseline && d.Result != ResultCanary {
		return
	}
	tuned := container(pod, d.Container)
	if tuned == nil {
		return
	}
	tuned.Env = d.Settings.Apply(tuned.Env)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Labels[v1alpha1.LabelPolicy] = rollout.PolicyLabel(d.Policy)
	pod.Annotations[v1alpha1.AnnotationSettings] = d.Settings.Canonical()
	if d.Result == ResultCanary {
		pod.Labels[v1alpha1.LabelCohort] = v1alpha1.CohortCanary
		if pod.Name == "" {
			pod.Name = rollout.PodName(pod.GenerateName, d.Slot)
		}
	}
}
