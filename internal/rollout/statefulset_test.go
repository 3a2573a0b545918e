package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/gopacer/internal/signal"
)

func ordinalName(ordinal int) string { return fmt.Sprintf("shop-%d", ordinal) }

func (w *world) named(name string) *worldPod {
	for _, pod := range w.find(func(pod *worldPod) bool { return pod.Name == name }) {
		return pod
	}
	return nil
}

// replicateInOrder is the StatefulSet: it does one thing after another, each once every pod before is Ready.
func (w *world) replicateInOrder() {
	if len(w.creating) > 0 {
		return
	}
	for ordinal := range w.replicas {
		switch pod := w.named(ordinalName(ordinal)); {
		case pod == nil:
			if !w.now.Before(w.backoff) {
				w.creating = append(w.creating, w.admit(w.revision, ordinalName(ordinal)))
				w.land()
			}
			return
		case pod.Terminating, !pod.Ready:
			return
		}
	}
	for _, surplus := range []bool{true, false} {
		pods := w.find(func(pod *worldPod) bool {
			return compareOrdinals(pod.Pod, Pod{Name: ordinalName(w.replicas)}) >= 0 == surplus && (surplus || pod.Revision != w.revision && !w.paused)
		})
		if len(pods) > 0 {
			w.terminate(slices.MaxFunc(pods, func(a, b *worldPod) int { return compareOrdinals(a.Pod, b.Pod) }))
			return
		}
	}
}

// openedFor is a slot and the pod's name that it was for; the name is empty where it was for any pod.
type openedFor struct{ name, id string }

// latestFor is the id of the last slot for a name.
func (m *manager) latestFor(name string) string {
	for _, opened := range slices.Backward(m.slotNames) {
		if opened.name == name {
			return opened.id
		}
	}
	return ""
}

// predecessor is what Prometheus still shows of the pod that had the name before: a sad end.
func (w *world) predecessor(pod *worldPod) signal.Pod {
	return signal.Pod{
		Requests: present(1000), FailedRequests: present(1000), LimiterEnabled: true, GOGCPercent: present(1),
		ProcessStartSeconds: present(float64(pod.CreatedAt.Add(-time.Hour).Unix())), Sampled: true, SampleAge: 3 * time.Second, Coverage: 1,
	}
}
