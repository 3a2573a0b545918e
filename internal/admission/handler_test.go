package admission

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func cached(policies ...*v1alpha1.RuntimeTuningPolicy) fixedPolicies {
	var fixed fixedPolicies
	for _, policy := range policies {
		fixed.cached = append(fixed.cached, *policy)
	}
	return fixed
}

func withLive(live func(context.Context) (*v1alpha1.RuntimeTuningPolicy, error)) fixedPolicies {
	fixed := cached(newPolicy())
	fixed.live = live
	return fixed
}

// admitted is the pod as the API server stores it after the webhook's answer.
func admitted(t *testing.T, handler *Handler, request admission.Request) *corev1.Pod {
	t.Helper()
	response := handler.Handle(t.Context(), request)
	if !response.Allowed {
		t.Fatalf("a pod was denied: %v", response.Result)
	}
	raw := request.Object.Raw
	if len(response.Patches) > 0 {
		text, err := json.Marshal(response.Patches)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(text)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			t.Fatalf("the API server could not apply %s: %v", text, err)
		}
	}
	var pod corev1.Pod
	if err := json.Unmarshal(raw, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func TestHandle(t *testing.T) {
	later, gone := newPolicy(), apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("runtimetuningpolicies").GroupResource(), "policy")
	later.Name, later.CreationTimestamp = "a-later-one", metav1.NewTime(noon.Add(time.Second))
	later.Status.Baseline.Settings = settings.Settings{GOGC: 999}.API()
	deleted := newPolicy()
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	reverting := newPolicy()
	reverting.Status.Trial.Stage = v1alpha1.StageReverting
	promoting := newPolicy()
	promoting.Status.Trial.Stage, promoting.Status.Baseline.Settings = v1alpha1.StagePromoting, candidate.API()
	foreign := newPolicy()
	foreign.Namespace = "elsewhere"

	answer := func(policy *v1alpha1.RuntimeTuningPolicy, err error) func(context.Context) (*v1alpha1.RuntimeTuningPolicy, error) {
		return func(context.Context) (*v1alpha1.RuntimeTuningPolicy, error) { return policy, err }
	}
	for name, test := range map[string]struct {
		policies Policies
		want     settings.Settings
		counted  string
	}{
		"no policy":                             {policies: cached(), want: declared},
		"a policy of another namespace":         {policies: cached(foreign), want: declared},
		"an open slot":                          {policies: cached(newPolicy()), want: candidate, counted: "canary"},
		"the oldest policy rules":               {policies: cached(later, reverting), want: baseline, counted: "baseline"},
		"the policy is being deleted":           {policies: cached(deleted), want: declared},
		"its successor rules then":              {policies: withoutTrial(deleted, later), want: settings.Settings{GOGC: 999}, counted: "baseline"},
		"the slots are closed by now":           {policies: withLive(answer(reverting, nil)), want: baseline, counted: "baseline"},
		"promoted by now":                       {policies: withLive(answer(promoting, nil)), want: candidate, counted: "baseline"},
		"deleted by now":                        {policies: withLive(answer(deleted, nil)), want: declared, counted: "declared"},
		"gone by now":                           {policies: withLive(answer(nil, gone)), want: declared, counted: "declared"},
		"the API server has no answer":          {policies: withLive(answer(nil, errors.New("no answer"))), want: baseline, counted: "error"},
		"the API server is slow":                {policies: withLive(untilCancelled), want: baseline, counted: "error"},
		"the cache does not work":               {policies: fixedPolicies{cacheErr: errors.New("not synced")}, want: declared, counted: "error"},
		"the cache has not heard of the trial":  {policies: withoutTrial(newPolicy()), want: baseline, counted: "baseline"},
		"the cache knows the end of the trial":  {policies: cached(reverting), want: baseline, counted: "baseline"},
		"the API server says another candidate": {policies: withLive(answer(otherCandidate(), nil)), want: settings.Settings{GOGC: 200}, counted: "canary"},
	} {
		t.Run(name, func(t *testing.T) {
			handler, registry := newHandler(t, test.policies, fixedClock())
			pod := admitted(t, handler, review(t, newPod()))
			if got := settingsOf(t, pod); got != test.want {
				t.Errorf("the pod starts with %+v, want %+v", got, test.want)
			}
			if (pod.Name == "checkout-5d9c-"+slot) != (test.counted == "canary") {
				t.Errorf("the pod's name is %q", pod.Name)
			}
			want := map[string]float64{}
			if test.counted != "" {
				want[test.counted] = 1
			}
			if diff := cmp.Diff(want, admissions(t, registry)); diff != "" {
				t.Errorf("admissions (-want +got):\n%s", diff)
			}
		})
	}
}

func withoutTrial(policies ...*v1alpha1.RuntimeTuningPolicy) fixedPolicies {
	fixed := cached(policies...)
	for i := range fixed.cached {
		fixed.cached[i] = *fixed.cached[i].DeepCopy()
		fixed.cached[i].Status.Trial = nil
	}
	return fixed
}

func otherCandidate() *v1alpha1.RuntimeTuningPolicy {
	policy := newPolicy()
	policy.Status.Trial.Candidate = settings.Settings{GOGC: 200}.API()
	return policy
}

func untilCancelled(ctx context.Context) (*v1alpha1.RuntimeTuningPolicy, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestTimesFit leaves more than half of the time that the API server waits for the webhook to all else.
func TestTimesFit(t *testing.T) {
	configuration, err := readConfiguration()
	if err != nil {
		t.Fatal(err)
	}
	waits := time.Duration(*configuration.Webhooks[0].TimeoutSeconds) * time.Second
	handler, _ := newHandler(t, withLive(untilCancelled), fixedClock())
	if handler.liveTimeout != liveTimeout || 2*handler.liveTimeout > waits {
		t.Errorf("a policy may take %s of the webhook's %s", handler.liveTimeout, waits)
	}
}

func TestMirrorPodIsLeftAlone(t *testing.T) {
	handler, registry := newHandler(t, cached(newPolicy()), fixedClock())
	pod := newPod()
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash", v1alpha1.AnnotationSettings: "GOGC=1"}
	if response := handler.Handle(t.Context(), review(t, pod)); !response.Allowed || len(response.Patches) > 0 {
		t.Errorf("response %+v, want no patch", response)
	}
	if counted := admissions(t, registry); len(counted) > 0 {
		t.Errorf("counted: %v", counted)
	}
}

func TestUnreadablePodIsAllowed(t *testing.T) {
	for _, raw := range []string{"", "null", "[]", `{"spec": 1}`, "{"} {
		handler, _ := newHandler(t, cached(newPolicy()), fixedClock())
		request := review(t, newPod())
		request.Object.Raw = []byte(raw)
		if response := handler.Handle(t.Context(), request); !response.Allowed || len(response.Patches) > 0 {
			t.Errorf("%q: response %+v, want it allowed as it is", raw, response)
		}
	}
}

// TestPatchKeepsUnknownFields has a pod of an API server that is newer than this program.
func TestPatchKeepsUnknownFields(t *testing.T) {
	handler, _ := newHandler(t, cached(newPolicy()), fixedClock())
	request := review(t, newPod())
	text := strings.Replace(string(request.Object.Raw), `"name":"app"`, `"name":"app","fieldOfTomorrow":{"a":1}`, 1)
	request.Object.Raw = []byte(strings.Replace(text, `"spec":{`, `"spec":{"another":[1,2],`, 1))
	response := handler.Handle(t.Context(), request)
	if len(response.Patches) == 0 {
		t.Fatal("no patch")
	}
	allowed := []string{"/metadata/name", "/metadata/labels", "/metadata/annotations", "/spec/containers/1/env"}
	for _, operation := range response.Patches {
		known := false
		for _, path := range allowed {
			known = known || strings.HasPrefix(operation.Path, path)
		}
		if !known || operation.Operation == "remove" {
			t.Errorf("the patch would %s %s", operation.Operation, operation.Path)
		}
	}
	if got := settingsOf(t, admitted(t, handler, request)); got != baseline {
		t.Errorf("the next pod starts with %+v, want the baseline: the slot is granted", got)
	}
}

func TestStripAndPatch(t *testing.T) {
	marks := func(pod *corev1.Pod) *corev1.Pod {
		pod.Labels[v1alpha1.LabelPolicy], pod.Labels[v1alpha1.LabelCohort] = "another", "canary"
		pod.Annotations = map[string]string{v1alpha1.AnnotationSettings: "GOGC=1", "other": "kept"}
		return pod
	}
	handler, _ := newHandler(t, cached(), fixedClock())
	got := admitted(t, handler, review(t, marks(newPod())))
	want := newPod()
	want.Annotations = map[string]string{"other": "kept"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a pod without a policy (-want +got):\n%s", diff)
	}

	handler, _ = newHandler(t, withoutTrial(newPolicy()), fixedClock())
	got = admitted(t, handler, review(t, marks(newPod())))
	if got.Labels[v1alpha1.LabelPolicy] != "policy" || got.Labels[v1alpha1.LabelCohort] != "" || got.Annotations[v1alpha1.AnnotationSettings] != "GOGC=150" {
		t.Errorf("a pod with a policy has labels %v, annotations %v", got.Labels, got.Annotations)
	}
}

func TestNewHandlerRefusesSecondRegistration(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := NewHandler(cached(), fixedClock(), registry); err != nil {
		t.Fatal(err)
	}
	if _, err := NewHandler(cached(), fixedClock(), registry); err == nil || !strings.Contains(err.Error(), "register") {
		t.Errorf("error %v, want one of the registration", err)
	}
}

// FuzzHandle: whatever a pod looks like, it is allowed, and the answer can be applied.
func FuzzHandle(f *testing.F) {
	for _, change := range []func(*corev1.Pod){
		func(*corev1.Pod) {},
		func(pod *corev1.Pod) { pod.Labels, pod.OwnerReferences = nil, nil },
		func(pod *corev1.Pod) { pod.Spec.Containers = nil },
		func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1alpha1.AnnotationSettings: "GOGC=1"} },
	} {
		pod := newPod()
		change(pod)
		raw, err := json.Marshal(pod)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || !strings.HasPrefix(string(raw), "{") {
			t.Skip("no API server sends this")
		}
		handler, _ := newHandler(t, cached(newPolicy()), fixedClock())
		request := review(t, newPod())
		request.Object.Raw = raw
		if err := json.Unmarshal(raw, &corev1.Pod{}); err != nil {
			if response := handler.Handle(t.Context(), request); !response.Allowed || len(response.Patches) > 0 {
				t.Errorf("response %+v, want it allowed as it is", response)
			}
			return
		}
		admitted(t, handler, request)
	})
}
