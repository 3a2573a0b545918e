package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

// pollInterval of the witness.
const pollInterval = 500 * time.Millisecond

// breachQuery is the share of the canary pods' requests since their start that were too slow. It is younger than any
// window, so it sees a breach first, and counts from the first slow request on.
const (
	breachQuery   = `1 - sum(http_request_duration_seconds_bucket{$pods,le="$edge"}) / sum(http_request_duration_seconds_count{$pods})`
	answeredQuery = `sum(http_request_duration_seconds_count{$pods})`
)

// witness watches a trial from outside of the operator: Prometheus by polls of its own, and the pods by a watch.
type witness struct {
	meter     meter
	candidate string // in the canonical form that gopacer writes on pods

	mutex sync.Mutex
	seen  testimony
	pods  map[string]canaryPod
}

// canaryPod is one that ran the candidate.
type canaryPod struct {
	Name string `json:"name"`
	// Born is when it was created, Gone when the API server had deleted it; zero while it is there.
	Born time.Time `json:"born"`
	Gone time.Time `json:"gone,omitzero"`
}

// testimony is what the witness saw.
type testimony struct {
	Query string `json:"promql"`
	Polls int    `json:"polls"`
	// FirstBreach is when a sample first showed more slow requests than the objective allows.
	FirstBreach time.Time `json:"firstBreach,omitzero"`
	Share       float64   `json:"slowShareThen"`
	Requests    float64   `json:"requestsThen"`
	// Worst is the largest share seen.
	Worst float64     `json:"worstSlowShare"`
	Pods  []canaryPod `json:"canaryPods"`
}

// startWitness begins to watch; it ends with the context.
func startWitness(ctx context.Context, config *rest.Config, asked meter, candidate string) (*witness, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	made := &witness{meter: asked, candidate: candidate, pods: map[string]canaryPod{}}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(stage.WorkloadNamespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { made.saw(object, false) },
		UpdateFunc: func(_, object any) { made.saw(object, false) },
		DeleteFunc: func(object any) { made.saw(object, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch the pods: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, errors.New("watch the pods: the API server did not list them")
	}
	go made.poll(ctx)
	return made, nil
}

// saw notes a pod that was started with the candidate.
func (w *witness) saw(object any, gone bool) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Annotations[v1alpha1.AnnotationSettings] != w.candidate {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	noted := canaryPod{Name: pod.Name, Born: pod.CreationTimestamp.UTC()}
	if gone {
		noted.Gone = time.Now().UTC()
	}
	w.pods[string(pod.UID)] = noted
}

func (w *witness) poll(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.ask(ctx)
		}
	}
}

// ask polls Prometheus once. No answer is no breach: it is asked again soon.
func (w *witness) ask(ctx context.Context) {
	names := w.names()
	if len(names) == 0 {
		return
	}
	at := time.Now()
	slow, err := w.meter.number(ctx, w.meter.fill(breachQuery, names, 0), at)
	if err != nil {
		return
	}
	total, err := w.meter.number(ctx, w.meter.fill(answeredQuery, names, 0), at)
	if err != nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen.note(w.meter.fill(breachQuery, names, 0), slow, total, slow > w.meter.latency.allowed, at)
}

// note keeps the first breach, and the worst.
func (s *testimony) note(promQL string, slow, requests float64, breach bool, at time.Time) {
	s.Polls++
	s.Worst = max(s.Worst, slow)
	if breach && s.FirstBreach.IsZero() {
		s.Query, s.FirstBreach, s.Share, s.Requests = promQL, at.UTC(), slow, requests
	}
}

func (w *witness) names() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var names []string
	for _, pod := range w.pods {
		names = append(names, pod.Name)
	}
	return sorted(names)
}

// forget begins anew, for a trial that is tried again.
func (w *witness) forget() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen, w.pods = testimony{}, map[string]canaryPod{}
}

// testify returns what was seen so far.
func (w *witness) testify() testimony {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	told := w.seen
	for _, pod := range w.pods {
		told.Pods = append(told.Pods, pod)
	}
	slices.SortFunc(told.Pods, func(a, b canaryPod) int { return strings.Compare(a.Name, b.Name) })
	return told
}

// lastGone is when the last canary pod was gone; the error says what keeps this from being known.
func (s testimony) lastGone() (time.Time, error) {
	var last time.Time
	if len(s.Pods) == 0 {
		return last, errors.New("the watch saw no pod that started with the candidate")
	}
	for _, pod := range s.Pods {
		if pod.Gone.IsZero() {
			return last, fmt.Errorf("pod %s still runs the candidate", pod.Name)
		}
		if pod.Gone.After(last) {
			last = pod.Gone
		}
	}
	return last, nil
}
