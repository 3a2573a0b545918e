package proof

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
	"github.com/gopacer/gopacer/test/virtual/api"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// baselineKey is the target's record.
var baselineKey = types.NamespacedName{Namespace: namespace, Name: workload.BaselineName(newPolicy().Spec.TargetRef)}

func templateOf(object client.Object) *corev1.PodTemplateSpec {
	return &object.(*appsv1.ReplicaSet).Spec.Template
}

func replicasOf(object client.Object) int32 { return *object.(*appsv1.Deployment).Spec.Replicas }

// ours says that a pod is one of the target's: a ReplicaSet of the Deployment controls it, or the Deployment itself.
func (w *witness) ours(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	return strings.HasPrefix(w.revisions[owner.UID], targetName+"-") || owner.Kind == "Deployment" && owner.Name == targetName
}

// isRemoval says that a call takes a pod down.
func isRemoval(call *api.Call) bool {
	return call.Kind == cluster.PodKind && (call.Subresource == "eviction" || call.Verb == "delete")
}

// checkScope is I7: of the policies only the status and the finalizer are written, of the target's pods only the cohort's label and what a
// handover needs, and what takes a pod down names its UID. Beside them there is the target's record. Nothing else is touched.
func (w *witness) checkScope(p *pass, call *api.Call, err error) {
	switch {
	case call.Kind == cluster.PolicyKind:
		if call.Key != p.key {
			w.violate("I7", "the look at policy %s writes policy %s", p.key.Name, call.Key.Name)
		}
		if call.Subresource == "" && (call.Verb != "patch" || !onlyFinalizers(call.Patch)) {
			w.violate("I7", "%s %s: %s", call, call.Key.Name, call.Patch)
		}
	case isRemoval(call):
		w.checkRemoval(p, call, err)
	case call.Kind == cluster.PodKind && call.Verb == "patch":
		if err == nil {
			w.checkPatched(call)
		}
	case call.Kind == cluster.BaselineKind && call.Key == baselineKey:
	default:
		w.violate("I7", "%s %s", call, call.Key.Name)
	}
}

func onlyFinalizers(patch []byte) bool {
	return strings.Contains(string(patch), `"finalizers"`) && !strings.Contains(string(patch), `"spec"`) && !strings.Contains(string(patch), `"labels"`)
}

// checkRemoval: a pod goes by its UID, and is one of the target's. By deletion only a pod that is not Ready goes, and only in a revert.
func (w *witness) checkRemoval(p *pass, call *api.Call, err error) {
	wanted := call.Options.Preconditions
	if wanted == nil || wanted.UID == nil || *wanted.UID == "" {
		w.violate("I7", "%s %s: whichever pod has this name now", call, call.Key.Name)
		return
	}
	pod := w.removed(*wanted.UID)
	if err != nil || pod == nil {
		return
	}
	if !w.ours(pod) {
		w.violate("I7", "%s %s: the pod is not the target's", call, call.Key.Name)
	}
	if call.Verb == "delete" {
		reverting := p.policy != nil && (p.policy.DeletionTimestamp != nil || p.policy.Status.Trial != nil && p.policy.Status.Trial.Stage == v1alpha1.StageReverting)
		if api.Ready(pod) || !reverting || wanted.ResourceVersion == nil {
			w.violate("I6", "pod %s is deleted around its budget", pod.Name)
		}
	}
}

// removed is a pod as it was before the latest changes took it down.
func (w *witness) removed(uid types.UID) *corev1.Pod {
	log := w.run.cluster.Server.Log()
	for i := len(log) - 1; i >= 0 && i > len(log)-200; i-- {
		if log[i].Kind == cluster.PodKind && log[i].Before != nil && log[i].Before.GetUID() == uid {
			if before := log[i].Before.(*corev1.Pod); before.DeletionTimestamp == nil {
				return before
			}
		}
	}
	return nil
}

// checkPatched holds a pod against what it was before the patch.
func (w *witness) checkPatched(call *api.Call) {
	log := w.run.cluster.Server.Log()
	last := log[len(log)-1]
	if last.Kind != cluster.PodKind || last.Key != call.Key || last.Before == nil || last.After == nil || last.Actor != call.Actor {
		return // it changed nothing
	}
	before, after := last.Before.(*corev1.Pod).DeepCopy(), last.After.(*corev1.Pod).DeepCopy()
	if !w.ours(before) {
		w.violate("I7", "%s %s: the pod is not the target's", call, call.Key.Name)
	}
	for _, pod := range []*corev1.Pod{before, after} {
		delete(pod.Labels, v1alpha1.LabelCohort)
		delete(pod.Annotations, corev1.PodDeletionCost)
		maps.DeleteFunc(pod.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, "tuning.gopacer.dev/") })
		pod.OwnerReferences = nil
		pod.ResourceVersion = ""
	}
	if len(before.Annotations) == 0 && len(after.Annotations) == 0 {
		before.Annotations, after.Annotations = nil, nil
	}
	if !equality.Semantic.DeepEqual(before, after) {
		w.violate("I7", "%s %s changes more than it may: %s", call, call.Key.Name, call.Patch)
	}
}

// admitted is I7 for the webhook: of a new pod it changes the name, the marks, and the managed keys of one container.
func (w *witness) admitted(before, after *corev1.Pod) {
	was, is := before.DeepCopy(), after.DeepCopy()
	for _, pod := range []*corev1.Pod{was, is} {
		pod.Name = ""
		for _, label := range []string{v1alpha1.LabelPolicy, v1alpha1.LabelCohort} {
			delete(pod.Labels, label)
		}
		delete(pod.Annotations, v1alpha1.AnnotationSettings)
		env := &pod.Spec.Containers[0].Env
		*env = slices.DeleteFunc(*env, func(variable corev1.EnvVar) bool {
			return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"}, variable.Name)
		})
	}
	if len(is.Annotations) == 0 {
		is.Annotations = was.Annotations
	}
	if !equality.Semantic.DeepEqual(was, is) {
		w.violate("I7", "the webhook changes more of a new pod than it may")
	}
}

// checkAvailability is I6: after an eviction no more pods are down than maxUnavailable, counted from what the pass read of the target, less what
// gopacer took down since. What fails by itself meanwhile is not gopacer's doing. Budgets are held by the API server.
func (w *witness) checkAvailability(p *pass, call *api.Call) {
	if !isRemoval(call) || call.Options.Preconditions == nil || call.Options.Preconditions.UID == nil {
		return
	}
	uid := *call.Options.Preconditions.UID
	pod := w.removed(uid)
	if pod == nil || !api.Ready(pod) || p.policy == nil || slices.ContainsFunc(w.evicted, func(one evicted) bool { return one.uid == uid }) {
		return
	}
	w.evicted = append(w.evicted, evicted{uid, w.run.cluster.Now()})
	up := 0
	for _, one := range p.pods {
		if !api.Ready(one) || one.DeletionTimestamp != nil || !w.ours(one) {
			continue
		}
		taken := slices.ContainsFunc(w.evicted, func(gone evicted) bool { return gone.uid == one.UID && !gone.at.Before(p.readAt) })
		if !taken {
			up++
		}
	}
	fewest := 1 << 30
	for _, replicas := range w.replicasSince(p.readAt) {
		fewest = min(fewest, replicas-mostDown(p.policy, replicas))
	}
	if up < fewest {
		w.violate("I6", "%d pods are up after pod %s was evicted, and %d must be", up, pod.Name, fewest)
	}
}
