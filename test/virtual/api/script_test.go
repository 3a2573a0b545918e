package api

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// step of the script.
type step struct {
	name string
	do   func(*side) error
}

// script is what gopacer, people, and a cluster's controllers ask of an API server, with what may go wrong.
var script = []step{
	{"create a policy with a status", func(s *side) error { return s.make("policy", newPolicy("policy")) }},
	{"create it again", func(s *side) error { return s.Create(s.ctx, newPolicy("policy")) }},
	{"create with a version", func(s *side) error {
		p := newPolicy("other")
		p.ResourceVersion = "1"
		return s.Create(s.ctx, p)
	}},
	{"create without a name", func(s *side) error { return s.Create(s.ctx, newPolicy("")) }},
	{"get what is not there", func(s *side) error {
		return s.Get(s.ctx, client.ObjectKey{Namespace: conformityNamespace, Name: "none"}, &v1alpha1.RuntimeTuningPolicy{})
	}},
	{"write the status", func(s *side) error { return s.status("policy", 1) }},
	{"write the same status", func(s *side) error { return s.status("policy", 1) }},
	{"write a status over an old version", func(s *side) error {
		old := s.kept["policy"].DeepCopyObject().(*v1alpha1.RuntimeTuningPolicy)
		old.Status.Trials = 7
		return s.Status().Update(s.ctx, old)
	}},
	{"write a status without a version", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.ResourceVersion = "" }, true)
	}},
	{"write a status with another UID", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.UID = "f0000000-0000-4000-8000-000000000000" }, true)
	}},
	{"change the spec by the status", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Suspend = v1alpha1.SuspendHold }, true)
	}},
	{"change the status by the spec", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Trials = 9 }, false)
	}},
	{"change the spec", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Suspend = v1alpha1.SuspendHold }, false)
	}},
	{"change an annotation of a policy", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.Annotations = map[string]string{"a": "b"} }, false)
	}},
	{"status without a version, by patch", func(s *side) error {
		return s.Status().Patch(s.ctx, s.kept["policy"].DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(`{"status":{"trials":3}}`)))
	}},
	{"add the finalizer over an old version", func(s *side) error { return s.finalizer("policy", true, s.kept["policy"].GetResourceVersion()) }},
	{"add the finalizer", func(s *side) error { return s.finalizer("policy", true, "") }},
	{"delete what has a finalizer", func(s *side) error { return s.Delete(s.ctx, newPolicy("policy")) }},
	{"delete it again", func(s *side) error { return s.Delete(s.ctx, newPolicy("policy")) }},
	{"add a finalizer while it is deleted", func(s *side) error {
		return s.edit("policy", func(p *v1alpha1.RuntimeTuningPolicy) { p.Finalizers = append(p.Finalizers, "example.com/late") }, false)
	}},
	{"write the status while it is deleted", func(s *side) error { return s.status("policy", 5) }},
	{"remove the finalizer", func(s *side) error { return s.finalizer("policy", false, "") }},
	{"delete what is gone", func(s *side) error { return s.Delete(s.ctx, newPolicy("policy")) }},
	{"patch what is gone", func(s *side) error { return s.finalizer("policy", true, "1") }},

	{"create a Deployment", func(s *side) error { return s.make("deployment", newDeployment()) }},
	{"scale it", func(s *side) error {
		return s.editDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](4) })
	}},
	{"annotate it", func(s *side) error {
		return s.editDeployment(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} })
	}},
	{"label it", func(s *side) error {
		return s.editDeployment(func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} })
	}},
	{"write its status", func(s *side) error {
		d := s.kept["deployment"].DeepCopyObject().(*appsv1.Deployment)
		if err := s.Get(s.ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		d.Status = appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 4, ObservedGeneration: d.Generation}
		d.Annotations = map[string]string{"revision": "1"}
		return s.Status().Update(s.ctx, d)
	}},
	{"update it without a version", func(s *side) error {
		return s.editDeployment(func(d *appsv1.Deployment) { d.ResourceVersion, d.Spec.Paused = "", true })
	}},
	{"create a ReplicaSet", func(s *side) error { return s.make("rs", newReplicaSet(s.kept["deployment"])) }},

	{"create a pod with a generated name", func(s *side) error { return s.make("generated", s.pod("", "web-", "")) }},
	{"create a pod that a node runs", func(s *side) error { return s.make("running", s.pod("running", "", "node-1")) }},
	{"create a pod of the same name", func(s *side) error { return s.Create(s.ctx, s.pod("running", "web-", "node-1")) }},
	{"create a pod with a slot's name", func(s *side) error { return s.make("slot", s.pod("web-abcdefgh", "web-", "node-1")) }},
	{"label a pod by its UID", func(s *side) error { return s.label("running", s.kept["running"].GetUID(), `"canary"`) }},
	{"label a pod by another UID", func(s *side) error { return s.label("running", "f0000000-0000-4000-8000-000000000000", `"canary"`) }},
	{"take the label off", func(s *side) error { return s.label("running", s.kept["running"].GetUID(), `null`) }},
	{"label a pod that is gone", func(s *side) error { return s.label("none", "x", `"canary"`) }},
	{"hand a pod over", func(s *side) error { return s.handOver("running", s.kept["running"].GetUID()) }},
	{"hand over a pod with another UID", func(s *side) error { return s.handOver("running", "f0000000-0000-4000-8000-000000000000") }},
	{"a JSON patch of a path that is not there", func(s *side) error {
		return s.jsonPatch("running", `[{"op":"remove","path":"/metadata/annotations/none"}]`)
	}},
	{"a JSON patch over an old version", func(s *side) error {
		return s.jsonPatch("running", `[{"op":"replace","path":"/metadata/resourceVersion","value":"1"},{"op":"add","path":"/metadata/labels/a","value":"b"}]`)
	}},
	{"two controllers", func(s *side) error {
		return s.jsonPatch("running", fmt.Sprintf(`[{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":%q,"controller":true}}]`, s.kept["rs"].GetUID()))
	}},
	{"run the pods", func(s *side) error { return s.run("running", "slot") }},
	{"evict with another UID", func(s *side) error { return s.evict("running", "f0000000-0000-4000-8000-000000000000") }},
	{"evict a pending pod with another UID", func(s *side) error { return s.evictGenerated("f0000000-0000-4000-8000-000000000000") }},
	{"evict what is gone", func(s *side) error { return s.evict("none", "x") }},
	{"create a budget", func(s *side) error { return s.make("budget", newBudget("budget")) }},
	{"evict under a new budget", func(s *side) error { return s.evict("running", s.kept["running"].GetUID()) }},
	{"the budget allows none", func(s *side) error { return s.allow("budget", 0) }},
	{"evict under a budget that is used up", func(s *side) error { return s.evict("running", s.kept["running"].GetUID()) }},
	{"the budget allows one", func(s *side) error { return s.allow("budget", 1) }},
	{"evict under a budget", func(s *side) error { return s.evict("running", s.kept["running"].GetUID()) }},
	{"evict it again", func(s *side) error { return s.evict("running", s.kept["running"].GetUID()) }},
	{"evict another under the same budget", func(s *side) error { return s.evict("slot", s.kept["slot"].GetUID()) }},
	{"a pod that is not Ready, a healthy budget", func(s *side) error { return s.unready("slot") }},
	{"create a second budget", func(s *side) error { return s.make("second", newBudget("second")) }},
	{"evict under two budgets", func(s *side) error { return s.evict("slot", s.kept["slot"].GetUID()) }},
	{"delete the second", func(s *side) error { return s.Delete(s.ctx, newBudget("second")) }},
	{"evict a pod that is not Ready", func(s *side) error { return s.evict("slot", s.kept["slot"].GetUID()) }},
	{"evict a pending pod", func(s *side) error { return s.evictGenerated(s.kept["generated"].GetUID()) }},

	{"create another pod", func(s *side) error { return s.make("third", s.pod("third", "", "node-1")) }},
	{"delete a pod with another UID", func(s *side) error {
		return s.Delete(s.ctx, s.kept["third"].DeepCopyObject().(client.Object), client.Preconditions{UID: ptr.To[types.UID]("f0000000-0000-4000-8000-000000000000")})
	}},
	{"delete a pod over an old version", func(s *side) error {
		return s.Delete(s.ctx, s.kept["third"].DeepCopyObject().(client.Object), client.Preconditions{ResourceVersion: ptr.To("1")})
	}},
	{"delete a pod", func(s *side) error { return s.Delete(s.ctx, s.kept["third"].DeepCopyObject().(client.Object)) }},
	{"delete it sooner", func(s *side) error {
		return s.Delete(s.ctx, s.kept["third"].DeepCopyObject().(client.Object), client.GracePeriodSeconds(5))
	}},
	{"delete it later", func(s *side) error {
		return s.Delete(s.ctx, s.kept["third"].DeepCopyObject().(client.Object), client.GracePeriodSeconds(50))
	}},
	{"delete it at once", func(s *side) error {
		return s.Delete(s.ctx, s.kept["third"].DeepCopyObject().(client.Object), client.GracePeriodSeconds(0))
	}},
	{"delete in the foreground", func(s *side) error {
		return s.Delete(s.ctx, s.kept["rs"].DeepCopyObject().(client.Object), client.PropagationPolicy(metav1.DeletePropagationForeground))
	}},
	{"and orphan after all", func(s *side) error {
		return s.Delete(s.ctx, s.kept["rs"].DeepCopyObject().(client.Object), client.PropagationPolicy(metav1.DeletePropagationOrphan))
	}},
	{"delete in the background", func(s *side) error {
		return s.Delete(s.ctx, newDeployment(), client.PropagationPolicy(metav1.DeletePropagationBackground))
	}},
}

func (s *side) make(name string, object client.Object) error {
	err := s.Create(s.ctx, object)
	s.kept[name] = object
	return err
}

func newPolicy(name string) *v1alpha1.RuntimeTuningPolicy {
	second := &metav1.Duration{Duration: time.Second}
	return &v1alpha1.RuntimeTuningPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: conformityNamespace, Name: name},
		Spec: v1alpha1.RuntimeTuningPolicySpec{
			TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Mode: v1alpha1.ModeAuto, Suspend: v1alpha1.SuspendNone,
			Knobs: v1alpha1.Knobs{
				GOGC:       v1alpha1.GOGCKnob{Mode: v1alpha1.KnobTune},
				GOMEMLIMIT: v1alpha1.GOMEMLIMITKnob{Mode: v1alpha1.KnobTune, PercentOfLimit: "90%"},
				GOMAXPROCS: v1alpha1.GOMAXPROCSKnob{Mode: v1alpha1.KnobKeep, Max: 64},
			},
			Objective: v1alpha1.Objective{Minimize: v1alpha1.MinimizeGCCPU, MinGain: "5%"},
			Strategy:  v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate},
			Analysis: v1alpha1.Analysis{
				Interval: &metav1.Duration{Duration: 10 * time.Second}, WarmUp: second, NoDataTimeout: &metav1.Duration{Duration: time.Minute}, GoodWindows: 1,
				Tier: v1alpha1.TierStandard, Breaker: v1alpha1.Breaker{Errors: "40%", For: &metav1.Duration{Duration: 20 * time.Second}},
			},
			Rollout: v1alpha1.Rollout{
				Steps: []v1alpha1.Step{{Canary: intstr.FromInt32(1), Hold: &metav1.Duration{Duration: time.Minute}}}, MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				Replacement: v1alpha1.ReplacementEvict, Promotion: v1alpha1.Promotion{By: v1alpha1.PromotionAutomatic, As: v1alpha1.PromotionWaves},
			},
			Schedule: v1alpha1.Schedule{Cooldown: second}, Metrics: v1alpha1.Metrics{Provider: "default", Latency: v1alpha1.LatencySource{Preset: v1alpha1.LatencyAuto}}, DeletionPolicy: v1alpha1.DeletionRestore,
		},
		Status: v1alpha1.RuntimeTuningPolicyStatus{Trials: 1},
	}
}

func (s *side) edit(name string, change func(*v1alpha1.RuntimeTuningPolicy), status bool) error {
	policy := &v1alpha1.RuntimeTuningPolicy{}
	if err := s.Get(s.ctx, client.ObjectKey{Namespace: conformityNamespace, Name: name}, policy); err != nil {
		return err
	}
	change(policy)
	if status {
		return s.Status().Update(s.ctx, policy)
	}
	return s.Update(s.ctx, policy)
}

func (s *side) status(name string, trials int64) error {
	return s.edit(name, func(p *v1alpha1.RuntimeTuningPolicy) {
		p.Status.Trials = trials
		p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared}
	}, true)
}

// finalizer is added or removed as the reconciler does it.
func (s *side) finalizer(name string, add bool, version string) error {
	before := s.kept[name].DeepCopyObject().(*v1alpha1.RuntimeTuningPolicy)
	if version == "" {
		if err := s.Get(s.ctx, client.ObjectKeyFromObject(before), before); err != nil {
			return err
		}
	}
	after := before.DeepCopy()
	after.Finalizers = nil
	if add {
		after.Finalizers = []string{v1alpha1.Finalizer}
	}
	return s.Patch(s.ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "app", Env: []corev1.EnvVar{{Name: "GOGC", Value: "25"}},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
		}}},
	}
}

func newDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: conformityNamespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template(),
		},
	}
}

func (s *side) editDeployment(change func(*appsv1.Deployment)) error {
	deployment := newDeployment()
	if err := s.Get(s.ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
		return err
	}
	change(deployment)
	return s.Update(s.ctx, deployment)
}

func newReplicaSet(owner client.Object) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: conformityNamespace, Name: "web-1",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template(),
		},
	}
}

func (s *side) pod(name, prefix, node string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: conformityNamespace, Name: name, GenerateName: prefix, Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.kept["rs"], appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: template().Spec,
	}
	pod.Spec.NodeName = node
	return pod
}

func (s *side) label(name string, uid types.UID, value string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: conformityNamespace, Name: name}}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{"tuning.gopacer.dev/cohort":%s}}}`, uid, value)
	return s.Patch(s.ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (s *side) jsonPatch(name, patch string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: conformityNamespace, Name: name}}
	return s.Patch(s.ctx, pod, client.RawPatch(types.JSONPatchType, []byte(patch)))
}

// handOver gives a pod to the Deployment.
func (s *side) handOver(name string, uid types.UID) error {
	return s.jsonPatch(name, fmt.Sprintf(`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"replace","path":"/metadata/ownerReferences","value":`+
		`[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":%q,"controller":true}]}]`, uid, s.kept["deployment"].GetUID()))
}

func (s *side) setPod(name string, change func(*corev1.Pod)) error {
	pod := &corev1.Pod{}
	if err := s.Get(s.ctx, client.ObjectKeyFromObject(s.kept[name]), pod); err != nil {
		return err
	}
	change(pod)
	return s.Status().Update(s.ctx, pod)
}

func (s *side) run(names ...string) error {
	for _, name := range names {
		if err := s.setPod(name, func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *side) unready(name string) error {
	return s.setPod(name, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
}

func (s *side) evict(name string, uid types.UID) error {
	meta := metav1.ObjectMeta{Namespace: conformityNamespace, Name: name}
	return s.SubResource("eviction").Create(s.ctx, &corev1.Pod{ObjectMeta: meta}, &policyv1.Eviction{
		ObjectMeta: meta, DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
}

func (s *side) evictGenerated(uid types.UID) error {
	return s.evict(s.kept["generated"].GetName(), uid)
}

func newBudget(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: conformityNamespace, Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
}

// allow is what the disruption controller writes.
func (s *side) allow(name string, disruptions int32) error {
	budget := newBudget(name)
	if err := s.Get(s.ctx, client.ObjectKeyFromObject(budget), budget); err != nil {
		return err
	}
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: 1 + disruptions, DesiredHealthy: 1, ExpectedPods: 2,
	}
	return s.Status().Update(s.ctx, budget)
}
