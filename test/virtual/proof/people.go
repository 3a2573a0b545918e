package proof

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// deed is something that happens once, at a time of its own.
type deed struct {
	name string
	do   func(*run)
}

// deeds are what people and autoscalers do.
var deeds = []deed{
	{"new image", func(r *run) { r.editTemplate(func(c *corev1.Container) { c.Image += "1" }) }},
	{"template declares more", func(r *run) { r.editTemplate(func(c *corev1.Container) { setEnv(c, "40") }) }},
	{"template declares the candidate", func(r *run) { r.editTemplate(func(c *corev1.Container) { setEnv(c, "50") }) }},
	{"rollback", (*run).rollBack},
	{"scale up", func(r *run) { r.scaleBy(1 + r.random.Int32N(4)) }},
	{"scale down", func(r *run) { r.scaleBy(-1 - r.random.Int32N(4)) }},
	{"scale to zero", func(r *run) { r.scaleToZero() }},
	{"HPA swings", (*run).swing},
	{"pause rollout", func(r *run) { r.pauseRollout() }},
	{"suspend Hold", func(r *run) { r.suspend(v1alpha1.SuspendHold) }},
	{"suspend Revert", func(r *run) { r.suspend(v1alpha1.SuspendRevert) }},
	{"mode Observe", func(r *run) { r.mode(v1alpha1.ModeObserve) }},
	{"mode Recommend", func(r *run) { r.mode(v1alpha1.ModeRecommend) }},
	{"delete policy", (*run).deletePolicy},
	{"delete and create policy", (*run).recreatePolicy},
	{"second policy", (*run).secondPolicy},
	{"delete target", func(r *run) { r.deleteTarget(metav1.DeletePropagationBackground) }},
	{"delete target in the foreground", func(r *run) { r.deleteTarget(metav1.DeletePropagationForeground) }},
	{"delete target, orphan", func(r *run) {
		r.orphaned = true
		r.deleteTarget(metav1.DeletePropagationOrphan)
	}},
	{"delete canaries", (*run).deleteCanaries},
	{"delete a pod", func(r *run) { r.anyPod(func(pod *corev1.Pod) { _ = r.people.Delete(r.ctx, pod) }) }},
	{"approve", (*run).approve},
	{"fewer steps", func(r *run) {
		r.edit(func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Rollout.Steps = p.Spec.Rollout.Steps[:1] })
	}},
	{"bolder", func(r *run) {
		r.edit(func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(3)) })
	}},
}

func setEnv(container *corev1.Container, gogc string) {
	for i := range container.Env {
		if container.Env[i].Name == "GOGC" {
			container.Env[i].Value = gogc
		}
	}
}

// edit the policy, if it is there.
func (r *run) edit(change func(*v1alpha1.RuntimeTuningPolicy)) {
	if policy := r.policy(); policy != nil {
		change(policy)
		r.must(r.people.Update(r.ctx, policy))
	}
}

func (r *run) target() *appsv1.Deployment {
	deployment := &appsv1.Deployment{}
	if err := r.people.Get(r.ctx, types.NamespacedName{Namespace: namespace, Name: targetName}, deployment); err != nil {
		return nil
	}
	return deployment
}

func (r *run) editTarget(change func(*appsv1.Deployment)) {
	if deployment := r.target(); deployment != nil {
		change(deployment)
		r.must(r.people.Update(r.ctx, deployment))
	}
}

func (r *run) editTemplate(change func(*corev1.Container)) {
	r.editTarget(func(deployment *appsv1.Deployment) { change(&deployment.Spec.Template.Spec.Containers[0]) })
}

// rollBack puts back the template of the first revision.
func (r *run) rollBack() {
	template := r.deployment().Spec.Template
	r.editTarget(func(deployment *appsv1.Deployment) { deployment.Spec.Template = template })
}

func (r *run) scaleBy(pods int32) {
	r.editTarget(func(deployment *appsv1.Deployment) {
		deployment.Spec.Replicas = ptr.To(max(1, *deployment.Spec.Replicas+pods))
	})
}

// scaleToZero and back.
func (r *run) scaleToZero() {
	r.editTarget(func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = ptr.To[int32](0) })
	r.cluster.After(r.between(10*time.Second, 3*time.Minute), func() {
		r.editTarget(func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = &r.scenario.replicas })
	})
}

// swing is a nervous autoscaler.
func (r *run) swing() {
	for i := range 6 {
		r.cluster.After(time.Duration(i)*30*time.Second, func() { r.scaleBy(r.random.Int32N(7) - 3) })
	}
}

func (r *run) pauseRollout() {
	r.editTarget(func(deployment *appsv1.Deployment) {
		deployment.Spec.Paused = true
		deployment.Spec.Template.Spec.Containers[0].Image += "2"
	})
	r.cluster.After(r.between(10*time.Second, 4*time.Minute), func() {
		r.editTarget(func(deployment *appsv1.Deployment) { deployment.Spec.Paused = false })
	})
}

func (r *run) suspend(how v1alpha1.Suspend) {
	r.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Suspend = how })
	r.cluster.After(r.between(10*time.Second, 4*time.Minute), func() {
		r.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Suspend = v1alpha1.SuspendNone })
	})
}

func (r *run) mode(mode v1alpha1.Mode) {
	r.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Mode = mode })
	r.cluster.After(r.between(10*time.Second, 4*time.Minute), func() {
		r.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Mode = v1alpha1.ModeAuto })
	})
}

func (r *run) deletePolicy() {
	if policy := r.policy(); policy != nil {
		r.must(r.people.Delete(r.ctx, policy))
	}
}

func (r *run) recreatePolicy() {
	r.deletePolicy()
	var again func()
	again = func() {
		if r.policy() != nil { // it has pods to take back first
			r.cluster.After(10*time.Second, again)
			return
		}
		r.must(r.people.Create(r.ctx, r.scenario.policy.DeepCopy()))
	}
	r.cluster.After(r.between(0, time.Minute), again)
}

// secondPolicy names the same target, and goes again later.
func (r *run) secondPolicy() {
	second := r.scenario.policy.DeepCopy()
	second.Name = fmt.Sprintf("second-%d", r.random.IntN(1000))
	if err := r.people.Create(r.ctx, second); err != nil {
		return // it is there already
	}
	r.cluster.After(r.between(time.Minute, 6*time.Minute), func() { _ = client.IgnoreNotFound(r.people.Delete(r.ctx, second)) })
}

// deleteTarget and create it anew a while later.
func (r *run) deleteTarget(how metav1.DeletionPropagation) {
	deployment := r.target()
	if deployment == nil {
		return
	}
	r.must(r.people.Delete(r.ctx, deployment, client.PropagationPolicy(how)))
	var again func()
	again = func() {
		if r.target() != nil {
			r.cluster.After(10*time.Second, again)
			return
		}
		r.must(r.people.Create(r.ctx, r.deployment()))
	}
	r.cluster.After(r.between(5*time.Second, 3*time.Minute), again)
}

// deleteCanaries is what the runbook says for a cluster without a manager.
func (r *run) deleteCanaries() {
	for _, pod := range r.cluster.Pods() {
		if pod.Labels[v1alpha1.LabelCohort] == v1alpha1.CohortCanary {
			_ = client.IgnoreNotFound(r.people.Delete(r.ctx, pod.DeepCopy()))
		}
	}
}

func (r *run) anyPod(do func(*corev1.Pod)) {
	var pods []*corev1.Pod
	for _, pod := range r.cluster.Pods() {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	if len(pods) > 0 {
		do(pods[r.random.IntN(len(pods))].DeepCopy())
	}
}

func (r *run) anyCanary(do func(*corev1.Pod)) {
	var pods []*corev1.Pod
	for _, pod := range r.cluster.Pods() {
		if pod.DeletionTimestamp == nil && pod.Labels[v1alpha1.LabelCohort] == v1alpha1.CohortCanary {
			pods = append(pods, pod)
		}
	}
	if len(pods) > 0 {
		do(pods[r.random.IntN(len(pods))].DeepCopy())
	}
}

// approve what is recommended, as soon as something is.
func (r *run) approve() {
	r.edit(func(policy *v1alpha1.RuntimeTuningPolicy) {
		if recommended := policy.Status.Recommendation; recommended != nil {
			policy.Spec.Approved = recommended.Settings.DeepCopy()
			return
		}
		policy.Spec.Approved = ptr.To(gogc(50))
	})
}
