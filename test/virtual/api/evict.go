package api

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

var budgetKind = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")

// evict is the eviction subresource (k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go).
func (s *Server) evict(call *Call) error {
	found, err := s.find(call.Kind, call.Key)
	if err != nil {
		return err
	}
	pod := found.(*corev1.Pod)
	if ignoresBudgets(pod) {
		return s.deleteEvicted(call)
	}
	budgets := s.budgetsOf(pod)
	switch {
	case len(budgets) > 1:
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	case len(budgets) == 1 && !unhealthyMayGo(pod, budgets[0]):
		if err := s.takeFromBudget(call, pod, budgets[0]); err != nil {
			return err
		}
	}
	return s.deleteEvicted(call)
}

// deleteEvicted says on the pod why it goes, and deletes it.
func (s *Server) deleteEvicted(call *Call) error {
	found, err := s.find(call.Kind, call.Key)
	if err != nil {
		return err
	}
	if err := checkPreconditions(call, found); err != nil {
		return err
	}
	pod := found.DeepCopyObject().(*corev1.Pod)
	setCondition(pod, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		LastTransitionTime: s.now(),
	})
	s.store(call.Actor, call.Kind, found, pod)
	if call.Options.Preconditions != nil && call.Options.Preconditions.ResourceVersion != nil {
		call.Options.Preconditions.ResourceVersion = ptr.To(pod.ResourceVersion)
	}
	_, err = s.delete(call)
	return err
}

func setCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == condition.Type {
			if pod.Status.Conditions[i].Status == condition.Status {
				condition.LastTransitionTime = pod.Status.Conditions[i].LastTransitionTime
			}
			pod.Status.Conditions[i] = condition
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}

func ignoresBudgets(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// Ready says what a pod's condition says.
func Ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (s *Server) budgetsOf(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var budgets []*policyv1.PodDisruptionBudget
	for _, object := range s.All(budgetKind) {
		budget := object.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && budget.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, budget)
		}
	}
	return budgets
}

func unhealthyMayGo(pod *corev1.Pod, budget *policyv1.PodDisruptionBudget) bool {
	if Ready(pod) {
		return false
	}
	always := ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow
	return always || budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
}

// retryAfterSeconds is what the API server asks for; the client then asks again by itself.
const retryAfterSeconds = 10

func (s *Server) takeFromBudget(call *Call, pod *corev1.Pod, budget *policyv1.PodDisruptionBudget) error {
	if budget.Status.ObservedGeneration < budget.Generation {
		return tooMany(retryAfterSeconds, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	}
	if budget.Status.DisruptionsAllowed == 0 {
		return tooMany(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy))
	}
	after := budget.DeepCopy()
	after.Status.DisruptionsAllowed--
	if after.Status.DisruptedPods == nil {
		after.Status.DisruptedPods = map[string]metav1.Time{}
	}
	after.Status.DisruptedPods[pod.Name] = s.now()
	s.store(call.Actor, budgetKind, budget, after)
	return nil
}

func tooMany(retryAfter int, because string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: because})
	return err
}
