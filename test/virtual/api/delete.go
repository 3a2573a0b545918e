package api

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// delete marks an object, or removes it (k8s.io/apiserver/pkg/registry/rest/delete.go and registry/generic/registry/store.go).
func (s *Server) delete(call *Call) (client.Object, error) {
	before, err := s.find(call.Kind, call.Key)
	if err != nil {
		return nil, err
	}
	if err := checkPreconditions(call, before); err != nil {
		return nil, err
	}
	after := clone(before)
	graceful := false
	if strategyOf(call.Kind).graceful {
		graceful = s.markGraceful(after.(*corev1.Pod), call.Options)
	}
	setCascade(after, call.Options.PropagationPolicy)
	pending := after.GetDeletionTimestamp() != nil && ptr.Deref(after.GetDeletionGracePeriodSeconds(), 0) > 0
	if len(after.GetFinalizers()) == 0 && !graceful && (!pending || isForced(call.Options)) {
		s.remove(call.Actor, call.Kind, before)
		return before, nil
	}
	if !graceful && (!pending || isForced(call.Options)) {
		s.markDeleting(after)
	}
	if !sameDeletion(before, after) {
		s.store(call.Actor, call.Kind, before, after)
	}
	return after, nil
}

func isForced(options *metav1.DeleteOptions) bool {
	return options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0
}

func sameDeletion(a, b client.Object) bool {
	return a.GetDeletionTimestamp().Equal(b.GetDeletionTimestamp()) && slices.Equal(a.GetFinalizers(), b.GetFinalizers()) &&
		ptr.Equal(a.GetDeletionGracePeriodSeconds(), b.GetDeletionGracePeriodSeconds())
}

// markGraceful gives a pod's kubelet time. One that no node runs, or that has ended, needs none.
func (s *Server) markGraceful(pod *corev1.Pod, options *metav1.DeleteOptions) bool {
	if pod.DeletionTimestamp != nil {
		return s.shorten(pod, options)
	}
	grace := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if options.GracePeriodSeconds != nil {
		grace = *options.GracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || grace == 0 {
		return false
	}
	pod.DeletionTimestamp = &metav1.Time{Time: s.now().Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	pod.Generation++
	return true
}

// shorten the time of a pod that is being deleted; it never grows.
func (s *Server) shorten(pod *corev1.Pod, options *metav1.DeleteOptions) bool {
	wanted, had := options.GracePeriodSeconds, ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
	if wanted == nil || *wanted == 0 || *wanted >= had {
		return false
	}
	until := pod.DeletionTimestamp.Add(time.Duration(*wanted-had) * time.Second)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: until}, ptr.To(*wanted)
	return true
}

func (s *Server) markDeleting(object client.Object) {
	if object.GetDeletionTimestamp() == nil && object.GetGeneration() > 0 {
		object.SetGeneration(object.GetGeneration() + 1)
	}
	if at := object.GetDeletionTimestamp(); at == nil || at.After(s.now().Time) {
		now := s.now()
		object.SetDeletionTimestamp(&now)
	}
	object.SetDeletionGracePeriodSeconds(ptr.To[int64](0))
}

// setCascade notes what is to become of the objects that this one owns; without a word they follow it.
func setCascade(object client.Object, policy *metav1.DeletionPropagation) {
	if policy == nil {
		return // what an earlier deletion said stays
	}
	kept := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(finalizer string) bool {
		return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
	})
	switch *policy {
	case metav1.DeletePropagationOrphan:
		kept = append(kept, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		kept = append(kept, metav1.FinalizerDeleteDependents)
	}
	object.SetFinalizers(kept)
}
