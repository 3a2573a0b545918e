package proof

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/controllers"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/workload"
)

// mostSeeds in which a named fault must be found.
const mostSeeds = 60

// found plays seeds with a sabotage until the invariant is violated.
func found(t *testing.T, invariant string, sabotage Sabotage) {
	t.Helper()
	runs := Seeds(1, mostSeeds)
	for i := range runs {
		runs[i].Sabotage, runs[i].Until = sabotage, invariant
	}
	played, others := 0, map[string]int{}
	violated := false
	RunMany(runs, func(outcome Outcome) bool {
		played++
		for _, one := range outcome.Violations {
			others[one.Invariant]++
			if one.Invariant == invariant && !violated {
				violated = true
				t.Logf("found after %d seeds, with seed %d: %s", played, outcome.Seed, one.Message)
			}
		}
		return violated
	})
	if !violated {
		t.Errorf("%s is not violated in %d seeds; violated are %v", invariant, played, others)
	}
}

// blind writes the status whatever it has become meanwhile.
type blind struct{ client.Client }

func (b blind) Status() client.SubResourceWriter { return blindStatus{b.Client.Status()} }

type blindStatus struct{ client.SubResourceWriter }

func (b blindStatus) Update(ctx context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	text, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": object.(*v1alpha1.RuntimeTuningPolicy).Status}})
	if err != nil {
		return err
	}
	return b.SubResourceWriter.Patch(ctx, object, client.RawPatch(types.JSONPatchType, text))
}

func TestFindsStatusWithoutVersion(t *testing.T) {
	found(t, "I5", Sabotage{Client: func(c client.Client) client.Client { return blind{c} }})
}

// TestFindsSlotOfAnotherRevision: once a slot was granted, its name goes to the first pod of another revision as well.
func TestFindsSlotOfAnotherRevision(t *testing.T) {
	found(t, "I1", Sabotage{Granting: anyRevision, Deploy: true})
}

// anyRevision tells the webhook that a new pod is one of the revision on trial.
func anyRevision(pod *corev1.Pod, trial *v1alpha1.Trial, replicaSet string, hash string) *corev1.Pod {
	lied := pod.DeepCopy()
	for i := range lied.OwnerReferences {
		lied.OwnerReferences[i].UID, lied.OwnerReferences[i].Name = trial.Revision, replicaSet
	}
	lied.Labels["pod-template-hash"] = hash
	return lied
}

func TestFindsLatePod(t *testing.T) {
	found(t, "I1", Sabotage{Admission: 3 * time.Minute})
}

// anyPod evicts whichever pod has the name.
type anyPod struct{ client.Client }

func (a anyPod) SubResource(name string) client.SubResourceClient {
	return anyPodEviction{a.Client.SubResource(name)}
}

type anyPodEviction struct{ client.SubResourceClient }

func (a anyPodEviction) Create(ctx context.Context, object, body client.Object, options ...client.SubResourceCreateOption) error {
	if eviction, ok := body.(*policyv1.Eviction); ok {
		eviction.DeleteOptions = &metav1.DeleteOptions{}
	}
	return a.SubResourceClient.Create(ctx, object, body, options...)
}

func TestFindsEvictionWithoutUID(t *testing.T) {
	found(t, "I7", Sabotage{Client: func(c client.Client) client.Client { return anyPod{c} }})
}

// hopeful takes what is no number for a good one.
type hopeful struct{ controllers.Observer }

func (h hopeful) Observe(ctx context.Context, request signal.Request) (signal.Window, error) {
	window, err := h.Observer.Observe(ctx, request)
	for name, pod := range window.Pods {
		if pod.Requests.State != signal.NotFinite {
			continue
		}
		requests := 20 * request.Length.Seconds()
		pod.Requests = signal.Value{Number: requests, State: signal.Present}
		pod.GCCPUSeconds = signal.Value{Number: requests / 1000 * 25 / pod.GOGCPercent.Number, State: signal.Present}
		pod.LatencyState = signal.Present
		pod.Latency = []signal.Bucket{{UpperBoundSeconds: 0.1, Count: requests}, {UpperBoundSeconds: math.Inf(1), Count: requests}}
		window.Pods[name] = pod
	}
	return window, err
}

func TestFindsNaNTakenAsPass(t *testing.T) {
	found(t, "I4", Sabotage{Observer: func(o controllers.Observer) controllers.Observer { return hopeful{o} }, NaN: true})
}

// early shows pods as Ready before they are.
type early struct{ workload.Reader }

func (e early) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := e.Reader.List(ctx, list, options...); err != nil {
		return err
	}
	pods, ok := list.(*corev1.PodList)
	for i := 0; ok && i < len(pods.Items); i++ {
		status := &pods.Items[i].Status
		at := slices.IndexFunc(status.Conditions, func(condition corev1.PodCondition) bool { return condition.Type == corev1.PodReady })
		if at >= 0 && status.Phase == corev1.PodRunning {
			status.Conditions[at].Status = corev1.ConditionTrue
		}
	}
	return nil
}

func TestFindsClockBeforeReady(t *testing.T) {
	found(t, "I2", Sabotage{Reader: func(reader workload.Reader) workload.Reader { return early{reader} }})
}
