package workload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
)

func newPolicy(container string) *v1alpha1.RuntimeTuningPolicy {
	return &v1alpha1.RuntimeTuningPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "policy", Namespace: "shop"},
		Spec: v1alpha1.RuntimeTuningPolicySpec{
			TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "checkout"}, Container: container,
		},
	}
}

// settled is what assemble makes of a Deployment that is in order.
func settled() Target {
	return Target{UID: "deployment", Replicas: 2, Container: "app", Revision: "replicaset-new"}
}

var ignoreUnexported = cmpopts.IgnoreUnexported(Target{})

func TestAssembleRevisions(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment, *[]appsv1.ReplicaSet, *[]corev1.Pod)
		want   func(*Target)
	}{
		"settled": {},
		"an old ReplicaSet is empty": {change: func(d *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
			*sets = append(*sets, newReplicaSet(d, "old", "1", 0))
		}},
		"one replica where none is said": {
			change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
				d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas = nil, 1, 1
			},
			want: func(target *Target) { target.Replicas = 1 },
		},
		"scaled to zero": {
			change: func(d *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
				d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas = ptr.To[int32](0), 0, 0
				(*sets)[0] = newReplicaSet(d, "new", "2", 0)
			},
			want: func(target *Target) { target.Replicas = 0 },
		},
		"scaling": {
			change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
				d.Spec.Replicas = ptr.To[int32](5)
			},
			want: func(target *Target) { target.Replicas, target.Scaling = 5, true },
		},
		"its controller has not seen the last change": {
			change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, _ *[]corev1.Pod) { d.Generation = 4 },
			want:   func(target *Target) { target.RollingOut = true },
		},
		"paused": {
			change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, _ *[]corev1.Pod) { d.Spec.Paused = true },
			want:   func(target *Target) { target.RollingOut = true },
		},
		"some pods are not of the template": {
			change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, _ *[]corev1.Pod) { d.Status.UpdatedReplicas = 1 },
			want:   func(target *Target) { target.RollingOut = true },
		},
		"an old ReplicaSet still has pods": {
			change: func(d *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
				old := newReplicaSet(d, "old", "1", 0)
				old.Status.Replicas = 1
				*sets = append([]appsv1.ReplicaSet{old}, *sets...)
			},
			want: func(target *Target) { target.RollingOut = true },
		},
		"an old ReplicaSet shall have pods": {
			change: func(d *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
				old := newReplicaSet(d, "old", "1", 1)
				old.Status.Replicas = 0
				*sets = append(*sets, old)
			},
			want: func(target *Target) { target.RollingOut = true },
		},
		"no ReplicaSet yet": {
			change: func(_ *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) { *sets = nil },
			want:   func(target *Target) { target.Revision, target.RollingOut = "", true },
		},
		"no revision yet": {
			change: func(d *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
				d.Annotations, (*sets)[0].Annotations = nil, nil
			},
			want: func(target *Target) { target.Revision, target.RollingOut = "", true },
		},
		"another Deployment's ReplicaSet of the same labels": {change: func(_ *appsv1.Deployment, sets *[]appsv1.ReplicaSet, _ *[]corev1.Pod) {
			other := newDeployment()
			other.UID = "other"
			foreign := newReplicaSet(other, "foreign", "2", 3)
			*sets = append([]appsv1.ReplicaSet{foreign}, *sets...)
		}},
		"a pod of a revision that is too new to be listed": {
			change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, pods *[]corev1.Pod) {
				newest := newReplicaSet(d, "newest", "3", 1)
				*pods = append(*pods, *newPod(&newest, "newest", "first"))
			},
			want: func(target *Target) { target.RollingOut = true },
		},
		"the last pod of a revision that was cleaned up": {change: func(d *appsv1.Deployment, _ *[]appsv1.ReplicaSet, pods *[]corev1.Pod) {
			oldest := newReplicaSet(d, "oldest", "1", 0)
			last := newPod(&oldest, "oldest", "last")
			last.DeletionTimestamp = ptr.To(metav1.Now())
			*pods = append(*pods, *last)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := newDeployment()
			replicaSets, pods := []appsv1.ReplicaSet{newReplicaSet(deployment, "new", "2", 2)}, []corev1.Pod{}
			want := settled()
			if test.change != nil {
				test.change(deployment, &replicaSets, &pods)
			}
			if test.want != nil {
				test.want(&want)
			}
			got, err := assemble(newPolicy(""), ofDeployment(deployment, replicaSets, pods), pods)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssembleContainer(t *testing.T) {
	limit := corev1.ResourceRequirements{Limits: corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("512Mi"), corev1.ResourceCPU: resource.MustParse("1500m"),
	}}
	app := corev1.Container{Name: "app", Resources: limit, Env: []corev1.EnvVar{{Name: "GOGC", Value: "25"}}}
	proxy := corev1.Container{Name: "proxy"}
	bad := corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "512Mi"}}}
	footing := settings.Footing{Declared: settings.Settings{GOGC: 25}, MemoryLimitBytes: 512 << 20, CPULimitMilli: 1500}
	for name, test := range map[string]struct {
		containers    []corev1.Container
		named         string
		wantContainer string
		wantFooting   settings.Footing
		reason        string
		says          []string
	}{
		"the only one":               {containers: []corev1.Container{app}, wantContainer: "app", wantFooting: footing},
		"the only one, named":        {containers: []corev1.Container{app}, named: "app", wantContainer: "app", wantFooting: footing},
		"one of two, named":          {containers: []corev1.Container{proxy, app}, named: "app", wantContainer: "app", wantFooting: footing},
		"the other of two, named":    {containers: []corev1.Container{proxy, app}, named: "proxy", wantContainer: "proxy"},
		"two, none named":            {containers: []corev1.Container{proxy, app}, reason: v1alpha1.ReasonContainerAmbiguous, says: []string{"spec.container", "proxy, app"}},
		"the only one has no such":   {containers: []corev1.Container{app}, named: "web", reason: v1alpha1.ReasonContainerNotFound, says: []string{`"web"`, "app"}},
		"neither of two has such":    {containers: []corev1.Container{proxy, app}, named: "web", reason: v1alpha1.ReasonContainerNotFound, says: []string{`"web"`, "proxy, app"}},
		"the runtime would not run":  {containers: []corev1.Container{bad}, wantContainer: "app", reason: v1alpha1.ReasonUnmanageableEnv, says: []string{"checkout", `"app"`, "512Mi"}},
		"the other's env is no harm": {containers: []corev1.Container{proxy, bad}, named: "proxy", wantContainer: "proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := newDeployment(test.containers...)
			deployment.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "web"}}
			got, err := assemble(newPolicy(test.named), ofDeployment(deployment, nil, nil), nil)
			checkRefusal(t, err, test.reason, test.says...)
			if got.Container != test.wantContainer || got.Footing != test.wantFooting {
				t.Errorf("container %q on %+v, want %q on %+v", got.Container, got.Footing, test.wantContainer, test.wantFooting)
			}
		})
	}
}

func checkRefusal(t *testing.T, err error, reason string, says ...string) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Fatalf("error %v, want none", err)
		}
		return
	}
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != reason {
		t.Fatalf("error %v, want a Refusal for %s", err, reason)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// TestAssembleGoesOnPastRefusal keeps a trial's pods in sight when the template changes under it, so that they can be replaced.
func TestAssembleGoesOnPastRefusal(t *testing.T) {
	bad := corev1.Container{Name: "renamed", Env: []corev1.EnvVar{{Name: "GOGC", ValueFrom: &corev1.EnvVarSource{}}}}
	deployment := newDeployment(bad)
	replicaSet := newReplicaSet(deployment, "old", "1", 1)
	pod := newPod(&replicaSet, "old", "canary")
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "GOGC", Value: "150"}}
	policy := newPolicy("app")
	for _, known := range []bool{true, false} {
		wantPod := rollout.Pod{Name: "canary", Revision: "replicaset-old", Unreadable: `there is no container ""`}
		if known {
			policy.Status.Target = &v1alpha1.TargetStatus{Container: "app"}
			wantPod.Settings, wantPod.Unreadable = settings.Settings{GOGC: 150}, ""
		} else {
			policy.Status.Target = nil
		}
		pods := []corev1.Pod{*pod}
		got, err := assemble(policy, ofDeployment(deployment, []appsv1.ReplicaSet{replicaSet}, pods), pods)
		checkRefusal(t, err, v1alpha1.ReasonContainerNotFound)
		want := Target{UID: "deployment", Replicas: 2, RollingOut: true, Pods: []rollout.Pod{wantPod}}
		if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
			t.Errorf("target (-want +got):\n%s", diff)
		}
	}
}

// TestLoad reads what a real API server returns: defaults, selectors, and pods that only look like the target's.
func TestLoad(t *testing.T) {
	c, namespace := cluster(t)
	policy := newPolicy("")
	policy.Namespace = namespace
	_, err := Load(t.Context(), c, policy)
	checkRefusal(t, err, v1alpha1.ReasonTargetNotFound, namespace+"/checkout")

	deployment := newDeployment()
	deployment.Namespace, deployment.UID, deployment.Generation = namespace, "", 0
	create(t, c, deployment)
	replicaSet := newReplicaSet(deployment, "new", "2", 2)
	replicaSet.UID = ""
	create(t, c, &replicaSet)
	create(t, c, newPod(&replicaSet, "new", "one"))
	stranger := newPod(&replicaSet, "new", "stranger")
	stranger.Labels["app"] = "other"
	create(t, c, stranger)
	orphan := newPod(&replicaSet, "new", "orphan")
	orphan.OwnerReferences = nil
	create(t, c, orphan)
	neighbour := newPod(&replicaSet, "new", "neighbour")
	neighbour.Namespace = "default"
	create(t, c, neighbour)

	got, err := Load(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	want := Target{
		UID: deployment.UID, Replicas: 2, Container: "app", Revision: replicaSet.UID,
		RollingOut: true, Scaling: true, // no controller runs here, so nothing is observed
		Pods: []rollout.Pod{{Name: "one", Revision: replicaSet.UID}},
	}
	volatile := cmpopts.IgnoreFields(rollout.Pod{}, "UID", "CreatedAt", "Version")
	if diff := cmp.Diff(want, got, ignoreUnexported, volatile); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	if len(got.Pods) == 1 && (got.Pods[0].UID == "" || time.Since(got.Pods[0].CreatedAt) > time.Hour) {
		t.Errorf("pods %+v", got.Pods)
	}

	deployment.Finalizers = []string{"example.com/wait"}
	if err := c.Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	_, err = Load(t.Context(), c, policy)
	checkRefusal(t, err, v1alpha1.ReasonTargetNotFound, "being deleted")
}
