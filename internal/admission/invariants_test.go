package admission

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const canaryName = "checkout-5d9c-" + slot

// scaleUp asks for pods at the same time and returns how many were refused because their name exists. Any other refusal fails the test.
func (s *shop) scaleUp(count int) (refused int) {
	s.t.Helper()
	results := make(chan error, count)
	var group sync.WaitGroup
	for range count {
		group.Go(func() {
			_, err := s.pod(nil)
			results <- err
		})
	}
	group.Wait()
	close(results)
	for err := range results {
		switch {
		case apierrors.IsAlreadyExists(err):
			refused++
		case err != nil:
			s.t.Errorf("create a pod: %v", err)
		}
	}
	return refused
}

func (s *shop) checkCanaries(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.canaries()); diff != "" {
		s.t.Errorf("canary pods (-want +got):\n%s", diff)
	}
}

// TestI1CanaryBound_StaleReplicas has two webhook replicas whose cache and whose view of the API server show the slot open for ever, and that
// know nothing of each other. The pod's name is the lock.
func TestI1CanaryBound_StaleReplicas(t *testing.T) { bothWays(t, testI1CanaryBound_StaleReplicas) }

func testI1CanaryBound_StaleReplicas(t *testing.T, s *shop) {
	policy := newPolicy()
	policy.Namespace = s.namespace
	s.keep(policy)
	s.serve(cached(policy), cached(policy))
	if refused := s.scaleUp(2); refused != 1 {
		t.Errorf("%d of 2 creates were refused, want 1: both replicas grant the slot once", refused)
	}
	s.checkCanaries(canaryName)
	if refused := s.scaleUp(6); refused != 0 {
		t.Errorf("%d of 6 further creates were refused, want none: both replicas remember their grant", refused)
	}
	s.checkCanaries(canaryName)
}

// TestI1CanaryBound_ForgottenGrant lets the memory of the grant run out before the slot shows as taken.
func TestI1CanaryBound_ForgottenGrant(t *testing.T) { bothWays(t, testI1CanaryBound_ForgottenGrant) }

func testI1CanaryBound_ForgottenGrant(t *testing.T, s *shop) {
	policy := newPolicy()
	policy.Namespace = s.namespace
	s.keep(policy)
	clock := clocktesting.NewFakePassiveClock(noon)
	served.serve(s.namespace, s.replica(cached(policy), clock).Webhook())
	s.mustPod(nil)
	clock.SetTime(noon.Add(grantMemory + time.Second))
	if _, err := s.pod(nil); !apierrors.IsAlreadyExists(err) {
		t.Errorf("error %v, want AlreadyExists", err)
	}
	s.mustPod(nil)
	s.checkCanaries(canaryName)
}

func TestI1CanaryBound_OneGrantForEachSlot(t *testing.T) {
	bothWays(t, testI1CanaryBound_OneGrantForEachSlot)
}

func testI1CanaryBound_OneGrantForEachSlot(t *testing.T, s *shop) {
	policy := newPolicy()
	policy.Status.Trial.Slots = []v1alpha1.Slot{{ID: "open0001"}, {ID: "taken002", PodUID: "pod", PodName: "checkout-5d9c-taken002"}, {ID: "open0003"}}
	s.policy(policy)
	s.serve(s.policies())
	if refused := s.scaleUp(8); refused != 0 {
		t.Errorf("%d creates were refused", refused)
	}
	s.checkCanaries("checkout-5d9c-open0001", "checkout-5d9c-open0003")
}

// stale is a replica whose cache has stopped, and that asks the real API server.
func (s *shop) stale(policy *v1alpha1.RuntimeTuningPolicy) Policies {
	fixed := cached(policy.DeepCopy())
	server := ClusterPolicies{Server: s.client}
	fixed.live = func(ctx context.Context) (*v1alpha1.RuntimeTuningPolicy, error) {
		return server.Live(ctx, types.NamespacedName{Namespace: policy.Namespace, Name: policy.Name})
	}
	return fixed
}

// TestI1CanaryBound_ClosedAfterCachedRead closes the trial in the API server while the webhook's cache still shows it open.
func TestI1CanaryBound_ClosedAfterCachedRead(t *testing.T) {
	bothWays(t, testI1CanaryBound_ClosedAfterCachedRead)
}

func testI1CanaryBound_ClosedAfterCachedRead(t *testing.T, s *shop) {
	end := &v1alpha1.TrialEnd{Reason: v1alpha1.ReasonLatencyBreached, At: metav1.NewTime(noon)}
	for name, test := range map[string]struct {
		spec   func(*v1alpha1.RuntimeTuningPolicySpec)
		status func(*v1alpha1.RuntimeTuningPolicyStatus)
	}{
		"reverting": {status: func(status *v1alpha1.RuntimeTuningPolicyStatus) {
			status.Trial.Stage, status.Trial.End = v1alpha1.StageReverting, end
		}},
		"ended":            {status: func(status *v1alpha1.RuntimeTuningPolicyStatus) { status.Trial = nil }},
		"taken":            {status: func(status *v1alpha1.RuntimeTuningPolicyStatus) { status.Trial.Slots[0].PodUID = "pod" }},
		"slots taken back": {status: func(status *v1alpha1.RuntimeTuningPolicyStatus) { status.Trial.Slots = nil }},
		"a new revision":   {status: func(status *v1alpha1.RuntimeTuningPolicyStatus) { status.Trial.Revision = "newer" }},
		"suspended":        {spec: func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Suspend = v1alpha1.SuspendRevert }},
		"mode Observe":     {spec: func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Mode = v1alpha1.ModeObserve }},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.another(t)
			policy := s.policy(newPolicy())
			s.serve(s.stale(policy))
			if test.spec != nil {
				test.spec(&policy.Spec)
				if err := s.client.Update(t.Context(), policy); err != nil {
					t.Fatal(err)
				}
			}
			if test.status != nil {
				test.status(&policy.Status)
				s.updateStatus(policy)
			}
			pod := s.mustPod(nil)
			if got := settingsOf(t, pod); got != baseline || pod.Labels[v1alpha1.LabelCohort] != "" {
				t.Errorf("the pod starts with %+v and labels %v, want the baseline", got, pod.Labels)
			}
			s.checkCanaries()
		})
	}
}

// TestI1CanaryBound_DeletedAfterCachedRead: pods of a deleted policy start as declared, or its end would never come.
func TestI1CanaryBound_DeletedAfterCachedRead(t *testing.T) {
	bothWays(t, testI1CanaryBound_DeletedAfterCachedRead)
}

func testI1CanaryBound_DeletedAfterCachedRead(t *testing.T, s *shop) {
	policy := newPolicy()
	policy.Finalizers = []string{v1alpha1.Finalizer}
	s.policy(policy)
	policy.Finalizers = []string{v1alpha1.Finalizer}
	if err := s.client.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.serve(s.stale(policy))
	for _, step := range []func() error{
		func() error { return s.client.Delete(t.Context(), policy) },
		func() error {
			return s.client.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if got := settingsOf(t, s.mustPod(nil)); got != declared {
			t.Errorf("the pod starts with %+v, want what it declares", got)
		}
	}
}

func TestI1CanaryBound_OtherRevision(t *testing.T) { bothWays(t, testI1CanaryBound_OtherRevision) }

func testI1CanaryBound_OtherRevision(t *testing.T, s *shop) {
	s.policy(newPolicy())
	s.serve(s.policies())
	pod := s.mustPod(func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "newer" })
	if got := settingsOf(t, pod); got != baseline {
		t.Errorf("a pod of another revision starts with %+v, want the baseline", got)
	}
	s.checkCanaries()
}

// TestI1CanaryBound_DryRun: a create that is only tried neither gets a slot nor uses one up.
func TestI1CanaryBound_DryRun(t *testing.T) { bothWays(t, testI1CanaryBound_DryRun) }

func testI1CanaryBound_DryRun(t *testing.T, s *shop) {
	s.policy(newPolicy())
	s.serve(s.policies())
	for range 3 {
		pod := s.mustPod(nil, client.DryRunAll)
		if got := settingsOf(t, pod); got != baseline || pod.Name == canaryName {
			t.Errorf("a tried pod %s shows %+v, want the baseline", pod.Name, got)
		}
	}
	s.checkCanaries()
	s.mustPod(nil)
	s.checkCanaries(canaryName)
}

// TestI1CanaryBound_FailedCreateBurnsNothing: the slot of a pod that was refused after admission goes to the next one.
func TestI1CanaryBound_FailedCreateBurnsNothing(t *testing.T) {
	bothWays(t, testI1CanaryBound_FailedCreateBurnsNothing)
}

func testI1CanaryBound_FailedCreateBurnsNothing(t *testing.T, s *shop) {
	s.policy(newPolicy())
	clock := clocktesting.NewFakePassiveClock(noon)
	served.serve(s.namespace, s.replica(s.policies(), clock).Webhook())
	if _, err := s.pod(func(pod *corev1.Pod) { pod.Spec.RestartPolicy = "Sometimes" }); !apierrors.IsInvalid(err) {
		t.Fatalf("error %v, want the pod to be invalid", err)
	}
	clock.SetTime(noon.Add(grantMemory))
	s.mustPod(nil)
	s.checkCanaries(canaryName)
}

// TestI7Scope_OnlyWhatIsNamed compares every field of a canary and of a baseline pod with a pod that no webhook saw.
func TestI7Scope_OnlyWhatIsNamed(t *testing.T) { bothWays(t, testI7Scope_OnlyWhatIsNamed) }

func testI7Scope_OnlyWhatIsNamed(t *testing.T, s *shop) {
	before := s.mustPod(nil) // no webhook is served yet, and failurePolicy is Ignore
	s.policy(newPolicy())
	s.serve(s.policies())
	canary, tuned := s.mustPod(nil), s.mustPod(nil)
	for _, test := range []struct {
		got    *corev1.Pod
		want   settings.Settings
		cohort string
	}{{canary, candidate, v1alpha1.CohortCanary}, {tuned, baseline, ""}} {
		want := before.DeepCopy()
		want.Labels[v1alpha1.LabelPolicy] = "policy"
		if test.cohort != "" {
			want.Labels[v1alpha1.LabelCohort] = test.cohort
		}
		want.Annotations = map[string]string{v1alpha1.AnnotationSettings: test.want.Canonical()}
		container(want, "app").Env[1].Value = test.want.GOGC.String()
		for _, pod := range []*corev1.Pod{want, test.got} {
			pod.Name, pod.UID, pod.ResourceVersion, pod.CreationTimestamp, pod.ManagedFields = "", "", "", metav1.Time{}, nil
		}
		if diff := cmp.Diff(want, test.got); diff != "" {
			t.Errorf("pod (-want +got):\n%s", diff)
		}
	}
}

func TestI7Scope_OtherPods(t *testing.T) { bothWays(t, testI7Scope_OtherPods) }

func testI7Scope_OtherPods(t *testing.T, s *shop) {
	elsewhere := s.another(t)
	s.policy(newPolicy())
	policies := s.policies()
	s.serve(policies)
	elsewhere.serve(policies)
	withOwner := func(apiVersion, kind string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = apiVersion, kind
		}
	}
	for name, pod := range map[string]*corev1.Pod{
		"a StatefulSet's":      s.mustPod(withOwner("apps/v1", "StatefulSet")),
		"a Job's":              s.mustPod(withOwner("batch/v1", "Job")),
		"another API's":        s.mustPod(withOwner("example.com/v1", "ReplicaSet")),
		"nobody's":             s.mustPod(func(pod *corev1.Pod) { pod.OwnerReferences = nil }),
		"a bare ReplicaSet's":  s.mustPod(func(pod *corev1.Pod) { delete(pod.Labels, "pod-template-hash") }),
		"another Deployment's": s.mustPod(func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "cart-5d9c" }),
		"another namespace's":  elsewhere.mustPod(nil),
	} {
		if settingsOf(t, pod) != declared || pod.Name == canaryName || pod.Labels[v1alpha1.LabelPolicy] != "" || len(pod.Annotations) > 0 {
			t.Errorf("%s: pod %s starts with %+v, labels %v, annotations %v", name, pod.Name, settingsOf(t, pod), pod.Labels, pod.Annotations)
		}
	}
}

// TestI7Scope_Marks: a copy of a canary loses what says that it is one, whoever owns it.
func TestI7Scope_Marks(t *testing.T) { bothWays(t, testI7Scope_Marks) }

func testI7Scope_Marks(t *testing.T, s *shop) {
	s.serve(s.policies())
	for name, owners := range map[string][]metav1.OwnerReference{"a copy": nil, "a ReplicaSet's": newPod().OwnerReferences} {
		for _, mark := range []string{v1alpha1.LabelPolicy, v1alpha1.LabelCohort, v1alpha1.AnnotationSettings} {
			pod := s.mustPod(func(pod *corev1.Pod) {
				pod.OwnerReferences, pod.Annotations = owners, map[string]string{"kept": "yes"}
				if mark == v1alpha1.AnnotationSettings {
					pod.Annotations[mark] = "value"
				} else {
					pod.Labels[mark] = "value"
				}
			})
			labels := slices.Sorted(maps.Keys(pod.Labels))
			if diff := cmp.Diff([]string{"app", "pod-template-hash"}, labels); diff != "" {
				t.Errorf("%s with %s: labels (-want +got):\n%s", name, mark, diff)
			}
			if diff := cmp.Diff(map[string]string{"kept": "yes"}, pod.Annotations); diff != "" {
				t.Errorf("%s with %s: annotations (-want +got):\n%s", name, mark, diff)
			}
		}
	}
}
