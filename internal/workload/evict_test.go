package workload

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/internal/rollout"
)

// runningPod is on a node and Ready, so that budgets count it, and its deletion waits for a kubelet.
func runningPod(t *testing.T, c client.Client, namespace, name string) *corev1.Pod {
	t.Helper()
	template := podTemplate()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: appLabels}, Spec: template.Spec}
	pod.Spec.NodeName = "node"
	create(t, c, pod)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatalf("set the status of pod %s: %v", name, err)
	}
	return pod
}

func budget(t *testing.T, c client.Client, namespace, name string) *policyv1.PodDisruptionBudget {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: appLabels},
		},
	}
	create(t, c, budget)
	return budget
}

// settle does what the disruption controller would.
func settle(t *testing.T, c client.Client, budget *policyv1.PodDisruptionBudget, allowed int32) {
	t.Helper()
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 1 + allowed,
	}
	if err := c.Status().Update(t.Context(), budget); err != nil {
		t.Fatalf("set the status of budget %s: %v", budget.Name, err)
	}
}

func asListed(pod *corev1.Pod) rollout.Pod { return rollout.Pod{Name: pod.Name, UID: pod.UID} }

func terminating(t *testing.T, c client.Client, pod *corev1.Pod) bool {
	t.Helper()
	var now corev1.Pod
	err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), &now)
	if apierrors.IsNotFound(err) {
		return true
	}
	if err != nil {
		t.Fatalf("get pod %s: %v", pod.Name, err)
	}
	return now.DeletionTimestamp != nil
}

func TestEvict(t *testing.T) {
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	if err := Evict(t.Context(), c, namespace, asListed(pod)); err != nil {
		t.Fatal(err)
	}
	if !terminating(t, c, pod) {
		t.Error("the pod is not being deleted")
	}
	if err := Evict(t.Context(), c, namespace, asListed(pod)); err != nil {
		t.Errorf("a second eviction of a terminating pod: %v", err)
	}
	deleteNow(t, c, pod)
	if err := Evict(t.Context(), c, namespace, asListed(pod)); err != nil {
		t.Errorf("eviction of a pod that is gone: %v", err)
	}
}

func TestEvictLeavesSuccessorOfSameNameAlone(t *testing.T) {
	t.Parallel()
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodPending} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			c, namespace := cluster(t)
			first := runningPod(t, c, namespace, "pod")
			deleteNow(t, c, first)
			second := runningPod(t, c, namespace, "pod")
			second.Status.Phase = phase
			if err := c.Status().Update(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			// For a pending pod the API server tries again for longer than Evict waits; the next pass will not see the first pod any more.
			err := Evict(t.Context(), c, namespace, asListed(first))
			if err != nil && !(phase == corev1.PodPending && errors.Is(err, ErrBlocked)) {
				t.Errorf("the listed pod is gone, which is success, but: %v", err)
			}
			if terminating(t, c, second) {
				t.Error("the successor was evicted")
			}
		})
	}
}

func TestEvictBlockedByBudget(t *testing.T) {
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	budget := budget(t, c, namespace, "checkout-budget")
	settle(t, c, budget, 0)

	err := Evict(t.Context(), c, namespace, asListed(pod))
	if !errors.Is(err, ErrBlocked) {
		t.Fatalf("error %v, want ErrBlocked", err)
	}
	for _, want := range []string{namespace + "/pod", "disruption budget", "checkout-budget"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if terminating(t, c, pod) {
		t.Error("the pod is being deleted all the same")
	}

	settle(t, c, budget, 1)
	if err := Evict(t.Context(), c, namespace, asListed(pod)); err != nil {
		t.Errorf("the budget allows it now, but: %v", err)
	}
	if !terminating(t, c, pod) {
		t.Error("the pod is not being deleted")
	}
}

// TestEvictDoesNotWaitForBudget has a budget that no disruption controller has seen: the API server asks to wait ten seconds, and the client would.
func TestEvictDoesNotWaitForBudget(t *testing.T) {
	t.Parallel()
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	budget(t, c, namespace, "new")
	started := time.Now()
	err := Evict(t.Context(), c, namespace, asListed(pod))
	if !errors.Is(err, ErrBlocked) {
		t.Errorf("error %v, want ErrBlocked", err)
	}
	if took := time.Since(started); took > evictTimeout+time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestEvictOtherErrors(t *testing.T) {
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	settle(t, c, budget(t, c, namespace, "one"), 1)
	settle(t, c, budget(t, c, namespace, "two"), 1)
	err := Evict(t.Context(), c, namespace, asListed(pod))
	if err == nil || errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		t.Errorf("error %v, want one that names the cause and is not ErrBlocked: it does not pass by waiting", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Evict(ctx, c, namespace, asListed(pod)); !errors.Is(err, context.Canceled) || errors.Is(err, ErrBlocked) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestMarkCohort(t *testing.T) {
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	for _, cohort := range []string{"control", "canary", "", ""} {
		if err := MarkCohort(t.Context(), c, namespace, pod.Name, pod.UID, cohort); err != nil {
			t.Fatalf("cohort %q: %v", cohort, err)
		}
		var now corev1.Pod
		get(t, c, namespace, pod.Name, &now)
		if got, ok := now.Labels["tuning.gopacer.dev/cohort"]; got != cohort || ok != (cohort != "") {
			t.Errorf("cohort %q: the label is %q, there: %t", cohort, got, ok)
		}
		if now.Labels["app"] != "checkout" || now.UID != pod.UID {
			t.Errorf("cohort %q changed more than its label: %v", cohort, now.Labels)
		}
	}
}

func TestMarkCohortLeavesSuccessorOfSameNameAlone(t *testing.T) {
	c, namespace := cluster(t)
	first := runningPod(t, c, namespace, "pod")
	deleteNow(t, c, first)
	if err := MarkCohort(t.Context(), c, namespace, "pod", first.UID, "control"); err != nil {
		t.Errorf("a pod that is gone: %v", err)
	}
	second := runningPod(t, c, namespace, "pod")
	if err := MarkCohort(t.Context(), c, namespace, "pod", first.UID, "control"); err != nil {
		t.Errorf("the listed pod is gone, which is success, but: %v", err)
	}
	var now corev1.Pod
	get(t, c, namespace, "pod", &now)
	if now.UID != second.UID || now.ResourceVersion != second.ResourceVersion {
		t.Errorf("the successor was changed: labels %v", now.Labels)
	}
}

func TestMarkCohortRefusal(t *testing.T) {
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	err := MarkCohort(t.Context(), c, namespace, pod.Name, pod.UID, "not a label value")
	if err == nil || !strings.Contains(err.Error(), namespace+"/pod") {
		t.Errorf("error %v, want one that names the pod", err)
	}
}

// TestGone keeps apart the conflicts that the API server answers with: only one about the UID says that the pod is gone.
func TestGone(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"not found":       {apierrors.NewNotFound(pods, "pod"), true},
		"another UID":     {apierrors.NewConflict(pods, "pod", errors.New("Precondition failed: UID in precondition: a, UID in object meta: b")), true},
		"another version": {apierrors.NewConflict(pods, "pod", errors.New("the ResourceVersion in the precondition (1) does not match")), false},
		"forbidden":       {apierrors.NewForbidden(pods, "pod", errors.New("UID")), false},
		"no answer":       {context.DeadlineExceeded, false},
	} {
		if got := gone(test.err); got != test.want {
			t.Errorf("%s: gone is %t", name, got)
		}
	}
}
