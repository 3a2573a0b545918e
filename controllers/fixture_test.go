package controllers

import (
	"context"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// newPolicy is that of the demonstration, with one step.
func newPolicy(name string) *v1alpha1.RuntimeTuningPolicy {
	return &v1alpha1.RuntimeTuningPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RuntimeTuningPolicySpec{
			TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target},
			Mode:      v1alpha1.ModeAuto,
			SLOs: []v1alpha1.SLO{
				{Name: "latency", Latency: &v1alpha1.LatencySLO{Threshold: metav1.Duration{Duration: 100 * time.Millisecond}, Target: "99%"}},
				{Name: "errors", Errors: &v1alpha1.ErrorsSLO{Max: "1%"}},
			},
			Analysis: v1alpha1.Analysis{
				Interval: seconds(10), WarmUp: seconds(20), NoDataTimeout: seconds(60), GoodWindows: 1,
				Breaker: v1alpha1.Breaker{Errors: "40%", For: seconds(20)},
			},
			Rollout: v1alpha1.Rollout{
				Steps: []v1alpha1.Step{{Canary: intstr.FromInt32(3), Hold: seconds(20)}}, MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				Replacement: v1alpha1.ReplacementEvict,
			},
			Schedule: v1alpha1.Schedule{Cooldown: seconds(3600)},
			Suspend:  v1alpha1.SuspendNone, DeletionPolicy: v1alpha1.DeletionRestore, Metrics: v1alpha1.Metrics{Provider: "default"},
			Knobs: v1alpha1.Knobs{
				GOGC:       v1alpha1.GOGCKnob{Mode: v1alpha1.KnobTune, Min: 25, Max: 200},
				GOMEMLIMIT: v1alpha1.GOMEMLIMITKnob{Mode: v1alpha1.KnobTune, PercentOfLimit: "90%"},
			},
			Objective: v1alpha1.Objective{Minimize: v1alpha1.MinimizeGCCPU, MinGain: "5%"},
			Strategy:  v1alpha1.Strategy{Type: v1alpha1.StrategyFeedback},
		},
	}
}

func objectMeta(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

var replicaSets = &appsv1.ReplicaSet{}

// app is the container to tune.
func app(gogc string) corev1.Container {
	return corev1.Container{Name: "app", Image: "app", Env: []corev1.EnvVar{{Name: "PORT", Value: "80"}, {Name: "GOGC", Value: gogc}}}
}

// deployment as its controller leaves it when all is settled, with the ReplicaSet of its template.
func (w *world) deployment(name string, replicas int32, containers ...corev1.Container) {
	w.t.Helper()
	if len(containers) == 0 {
		containers = []corev1.Container{app("25")}
	}
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace, Annotations: map[string]string{"deployment.kubernetes.io/revision": "1"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: containers}},
		},
	}
	w.must(w.create(deployment))
	w.replicaSet(deployment, "5d9c", "1")
	w.settled(deployment)
}

func (w *world) replicaSet(deployment *appsv1.Deployment, hash, revision string) {
	w.t.Helper()
	labels := map[string]string{"app": deployment.Name, appsv1.DefaultDeploymentUniqueLabelKey: hash}
	template := *deployment.Spec.Template.DeepCopy()
	template.Labels = labels
	w.must(w.create(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: deployment.Name + "-" + hash, Namespace: w.namespace, Labels: labels,
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: deployment.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}))
}

func (w *world) settled(deployment *appsv1.Deployment) {
	w.t.Helper()
	replicas := *deployment.Spec.Replicas
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas}
	w.must(w.server.Status().Update(w.t.Context(), deployment))
}

// scale asks for another number of pods, and gets them.
func (w *world) scale(replicas int32) {
	w.t.Helper()
	deployment, set := w.getDeployment(), &appsv1.ReplicaSet{}
	deployment.Spec.Replicas = &replicas
	w.must(w.server.Update(w.t.Context(), deployment))
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: target + "-5d9c"}, set))
	set.Spec.Replicas = &replicas
	w.must(w.server.Update(w.t.Context(), set))
	w.settled(deployment)
	w.settle()
}

func (w *world) getDeployment() *appsv1.Deployment {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: target}, deployment))
	return deployment
}

// rollOut puts a new template in the place of the old one, pods and all.
func (w *world) rollOut(change func(*corev1.PodTemplateSpec)) {
	w.t.Helper()
	ctx := w.t.Context()
	deployment := w.getDeployment()
	change(&deployment.Spec.Template)
	deployment.Annotations["deployment.kubernetes.io/revision"] = "2"
	w.must(w.server.Update(ctx, deployment))
	old := &appsv1.ReplicaSet{}
	w.must(w.server.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: target + "-5d9c"}, old))
	old.Spec.Replicas = ptr.To[int32](0)
	w.must(w.server.Update(ctx, old))
	w.must(w.server.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace), client.MatchingLabels(old.Spec.Selector.MatchLabels)))
	w.replicaSet(deployment, "7f8b", "2")
	w.settled(deployment)
	w.settle()
}

// scriptedPrometheus measures the pods of the world: a service that spends a fifth of its CPU time on the collector at GOGC=25, and
// less in proportion as GOGC grows.
type scriptedPrometheus struct {
	world *world
	asked int
	// scrapeInterval is asked first: unknownProvider is its error.
	unknownProvider error
	// down is what Observe answers instead.
	down error
	// alter changes what was measured of a pod that runs a GOGC.
	alter func(gogc string, pod *signal.Pod)
}

func (s *scriptedPrometheus) ScrapeInterval(string) (time.Duration, error) {
	return 5 * time.Second, s.unknownProvider
}

func (s *scriptedPrometheus) Observe(_ context.Context, request signal.Request) (signal.Window, error) {
	s.asked++
	if s.down != nil {
		return signal.Window{}, s.down
	}
	window := signal.Window{End: request.End, Length: request.Length, ScrapeInterval: 5 * time.Second, Pods: map[string]signal.Pod{}}
	for _, pod := range s.world.pods() {
		s.world.lens.adjust(&pod)
		measured := measuredPod(&pod, request.Length.Seconds())
		if s.alter != nil {
			s.alter(envOf(&pod, "GOGC"), &measured)
		}
		window.Pods[pod.Name] = measured
	}
	return window, nil
}

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

func measuredPod(pod *corev1.Pod, length float64) signal.Pod {
	gogc, err := settings.ParseGOGC(envOf(pod, "GOGC"))
	if err != nil {
		gogc = settings.DefaultGOGC
	}
	requests, cpu := 20*length, 0.2*length
	return signal.Pod{
		Requests: present(requests), FailedRequests: present(0), RequestSeconds: present(requests / 100), Latency: slow(requests, 0), LatencyState: signal.Present,
		GCCPUSeconds: present(0.2 * cpu * 25 / float64(gogc)), CPUSeconds: present(cpu), GCCycles: present(50), GCCyclesTotal: present(100),
		GCPauseSeconds: present(1e-4), ResidentBytes: present(1e8), LiveHeapBytes: present(2e7), StackAndGlobalBytes: present(1e6),
		TotalMemoryBytes: present(1.2e8), GOGCPercent: present(float64(gogc)), MemoryLimitBytes: present(math.MaxInt64), GOMAXPROCS: present(1),
		ProcessStartSeconds: present(float64(pod.CreationTimestamp.Unix())), SampleAge: time.Second, Coverage: 1, Sampled: true,
	}
}

// slow is a histogram with so many requests above 100 ms.
func slow(requests, above float64) []signal.Bucket {
	return []signal.Bucket{
		{UpperBoundSeconds: 0.1, Count: requests - above}, {UpperBoundSeconds: 1, Count: requests}, {UpperBoundSeconds: math.Inf(1), Count: requests},
	}
}

// breach makes all pods that run one of the values slow.
func breach(values ...string) func(string, *signal.Pod) {
	return func(gogc string, pod *signal.Pod) {
		for _, value := range values {
			if gogc == value {
				pod.Latency = slow(pod.Requests.Number, pod.Requests.Number/2)
			}
		}
	}
}

var errDown = &prometheus.UnavailableError{Provider: "default", Query: signal.QueryGauges, Err: context.DeadlineExceeded}

func promotedBaseline(gogc, declared int32) *v1alpha1.Baseline {
	footing := settings.Footing{Declared: settings.Settings{GOGC: settings.GOGC(declared)}}
	at := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	return &v1alpha1.Baseline{
		Source: v1alpha1.BaselinePromoted, Settings: settings.Settings{GOGC: settings.GOGC(gogc)}.API(), Footing: footing.API(), PromotedAt: &at,
	}
}

// writingTo reads from one world and writes to another, as behind a cache.
type writingTo struct {
	client.Client
	reader client.Reader
}

func (w writingTo) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return w.reader.Get(ctx, key, object, options...)
}

func (w writingTo) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return w.reader.List(ctx, list, options...)
}
