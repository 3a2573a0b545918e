package rollout

import (
	"maps"
	"time"

	"github.com/gopacer/gopacer/internal/signal"
)

// clockSkew between the node that stamps a process' start, or the Prometheus that stamps a sample, and the API server that stamps a pod's
// creation.
const clockSkew = 5 * time.Second

// withoutPredecessors leaves out what was measured of an older pod of the same name: Prometheus knows pods by name, and a StatefulSet's pod takes
// over its predecessor's. A window that begins before the process does counts its own alone, which package signal sees to.
func withoutPredecessors(window *signal.Window, pods []Pod) *signal.Window {
	if window == nil {
		return nil
	}
	kept := *window
	for _, pod := range pods {
		measured, found := kept.Pods[pod.Name]
		if !found || !olderThan(measured, window.End, pod.CreatedAt.Add(-clockSkew)) {
			continue
		}
		if len(kept.Pods) == len(window.Pods) {
			kept.Pods = maps.Clone(kept.Pods)
		}
		delete(kept.Pods, pod.Name)
	}
	return &kept
}

func olderThan(measured signal.Pod, end, created time.Time) bool {
	started := measured.ProcessStartSeconds
	return started.OK() && started.Number < float64(created.Unix()) || measured.Sampled && end.Add(-measured.SampleAge).Before(created)
}
