package admission

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// Strip takes what only gopacer may write off a new pod. It comes along with copies: kubectl debug --copy-to, a template made from a running pod.
func Strip(pod *corev1.Pod) {
	delete(pod.Labels, v1alpha1.LabelPolicy)
	delete(pod.Labels, v1alpha1.LabelCohort)
	delete(pod.Annotations, v1alpha1.AnnotationSettings)
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
