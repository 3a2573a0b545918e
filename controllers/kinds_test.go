package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
)

// settleSets plays the StatefulSet and the DaemonSet controller.
func (w *world) settleSets() {
	w.t.Helper()
	var stateful appsv1.StatefulSetList
	w.must(w.server.List(w.t.Context(), &stateful, client.InNamespace(w.namespace)))
	for i := range stateful.Items {
		set := &stateful.Items[i]
		for ordinal := range *set.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", set.Name, ordinal)
			if !slices.ContainsFunc(w.pods(), func(pod corev1.Pod) bool { return pod.Name == name }) {
				w.createPod(set, "StatefulSet", templateOf(set.Spec.Template, set.Status.UpdateRevision), name)
			}
		}
	}
	var daemons appsv1.DaemonSetList
	w.must(w.server.List(w.t.Context(), &daemons, client.InNamespace(w.namespace)))
	for i := range daemons.Items {
		set := &daemons.Items[i]
		for have := w.living(set); have < set.Status.DesiredNumberScheduled; have++ {
			w.createPod(set, "DaemonSet", templateOf(set.Spec.Template, "5d9c"), "")
		}
	}
}

func templateOf(template corev1.PodTemplateSpec, revision string) corev1.PodTemplateSpec {
	labelled := *template.DeepCopy()
	labelled.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	return labelled
}

func appTemplate() (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": target}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{app("25")}},
	}
}

func (w *world) statefulSet() {
	w.t.Helper()
	selector, template := appTemplate()
	set := &appsv1.StatefulSet{ObjectMeta: objectMeta(w.namespace, target, nil), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](6), Selector: selector, Template: template}}
	w.must(w.create(set))
	revision := target + "-5d9c"
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 6, CurrentRevision: revision, UpdateRevision: revision}
	w.must(w.server.Status().Update(w.t.Context(), set))
	w.settle()
}

func (w *world) daemonSet() {
	w.t.Helper()
	selector, template := appTemplate()
	set := &appsv1.DaemonSet{ObjectMeta: objectMeta(w.namespace, target, nil), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	w.must(w.create(set))
	set.Status = appsv1.DaemonSetStatus{ObservedGeneration: set.Generation, DesiredNumberScheduled: 6, CurrentNumberScheduled: 6}
	w.must(w.server.Status().Update(w.t.Context(), set))
	w.must(w.create(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: target + "-5d9c", Namespace: w.namespace, Labels: templateOf(template, "5d9c").Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Data: runtime.RawExtension{Raw: []byte("{}")}, Revision: 1,
	}))
	w.settle()
}

func ofKind(kind string) func(*v1alpha1.RuntimeTuningPolicy) {
	return func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.TargetRef.Kind = kind }
}

// bareReplicaSet stands for itself.
func (w *world) bareReplicaSet() {
	w.t.Helper()
	selector, template := appTemplate()
	set := &appsv1.ReplicaSet{ObjectMeta: objectMeta(w.namespace, target, nil), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](6), Selector: selector, Template: template}}
	w.must(w.create(set))
	set.Status = appsv1.ReplicaSetStatus{ObservedGeneration: set.Generation, Replicas: 6}
	w.must(w.server.Status().Update(w.t.Context(), set))
	w.settle()
}

var kinds = map[string]func(*world){
	workload.KindStatefulSet: (*world).statefulSet, workload.KindDaemonSet: (*world).daemonSet, workload.KindReplicaSet: (*world).bareReplicaSet,
}

// TestKinds takes a trial of each kind to its promotion, back to what is declared when the policy is deleted, and back from a breach.
func TestKinds(t *testing.T) {
	for kind, create := range kinds {
		t.Run(kind+" promoted", func(t *testing.T) {
			w := newWorld(t)
			create(w)
			w.policy(ofKind(kind))
			w.pass(10 * time.Minute)
			diary := keepDiary(w)
			policy := w.run(ended)
			if record := policy.Status.History[0]; record.Result != v1alpha1.TrialPromoted || w.running("35") != 6 {
				t.Errorf("it ended with %s; the pods run %v", dump(record), w.gogc())
			}
			w.checkOwners(diary, kind)
			w.delete()
			w.runGone()
			if w.running("25") != 6 {
				t.Errorf("restored, the pods run %v", w.gogc())
			}
		})
		t.Run(kind+" reverted", func(t *testing.T) {
			w := newWorld(t)
			create(w)
			w.policy(ofKind(kind))
			w.pass(10 * time.Minute)
			w.prometheus.alter = breach("35")
			policy := w.run(ended)
			if record := policy.Status.History[0]; record.Result != v1alpha1.TrialReverted || record.Reason != v1alpha1.ReasonLatencyBreached || w.running("25") != 6 {
				t.Errorf("it ended with %s; the pods run %v", dump(record), w.gogc())
			}
		})
	}
}

// checkOwners holds that each slot was taken by one pod, three in all.
func (w *world) checkOwners(d *diary, kind string) {
	w.t.Helper()
	pods := map[string]bool{}
	for _, owner := range d.owners {
		if owner != "" {
			pods[owner] = true
		}
	}
	if len(pods) != 3 {
		w.t.Errorf("%s: slots were taken by %v", kind, d.owners)
	}
}

// TestStatefulSetWithoutWebhook: a step stops after two pods that came back without the candidate.
func TestStatefulSetWithoutWebhook(t *testing.T) {
	w := newWorldInMemory(t)
	w.statefulSet()
	w.policy(ofKind(workload.KindStatefulSet))
	w.pass(10 * time.Minute)
	w.run(inStage(v1alpha1.StageCanary))
	w.withoutAdmission = true
	before := w.born()
	if record := w.run(ended).Status.History[0]; record.Reason != v1alpha1.ReasonNotAdmitted {
		t.Errorf("it ended with %s", dump(record))
	}
	if got := w.born() - before; got > 2 {
		t.Errorf("%d pods were replaced for it", got)
	}
}

func (w *world) born() int { return len(w.lens.born) }

// TestPendingUpdate: where a pod's successor would be of another template, nothing is replaced, not in a revert either, and the status says what
// to do.
func TestPendingUpdate(t *testing.T) {
	w := newWorldInMemory(t)
	w.statefulSet()
	w.policy(ofKind(workload.KindStatefulSet))
	w.pass(10 * time.Minute)
	w.run(slotsTaken)
	w.updateOnDelete()
	pods := w.uids()
	for range 30 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	policy := w.get()
	if !inStage(v1alpha1.StageReverting)(policy) || policy.Status.Trial.End.Reason != v1alpha1.ReasonSuperseded || !slices.Equal(pods, w.uids()) {
		t.Fatalf("the status is %s", dump(policy.Status))
	}
	w.wantPending(policy, "checkout-3, checkout-4, checkout-5")
	for _, name := range []string{"checkout-3", "checkout-4", "checkout-5"} {
		w.must(w.server.Delete(t.Context(), &corev1.Pod{ObjectMeta: objectMeta(w.namespace, name, nil)}))
	}
	w.run(ended)
	w.wantPending(w.rest(), "updateStrategy is OnDelete")
	w.must(w.server.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(w.namespace)))
	if policy := w.rest(); reasonOf(policy) == v1alpha1.ReasonPendingUpdate {
		t.Errorf("all pods are of the new template, and Ready is %s", dump(policy.Status.Conditions))
	}
}

// updateOnDelete gives the StatefulSet a new template that waits for people.
func (w *world) updateOnDelete() {
	w.t.Helper()
	set := &appsv1.StatefulSet{}
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: target}, set))
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	set.Spec.Template.Spec.Containers[0].Image = "app:2"
	w.must(w.server.Update(w.t.Context(), set))
	set.Status.UpdateRevision = target + "-7f8b"
	w.must(w.server.Status().Update(w.t.Context(), set))
}

func (w *world) uids() []types.UID {
	var uids []types.UID
	for uid := range w.versions() {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}

func (w *world) wantPending(policy *v1alpha1.RuntimeTuningPolicy, says string) {
	w.t.Helper()
	for _, condition := range policy.Status.Conditions {
		if condition.Type == v1alpha1.ConditionStalled && condition.Reason == v1alpha1.ReasonPendingUpdate && strings.Contains(condition.Message, says) {
			return
		}
	}
	w.t.Errorf("Stalled does not say %q: %s", says, dump(policy.Status.Conditions))
}
