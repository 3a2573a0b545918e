package verdict

import "time"

// Health is what the Kubernetes API says of the tuned container of a pod. It needs no Prometheus.
type Health struct {
	// Ready is the pod's Ready condition, ReadyChangedAt its last transition.
	Ready          bool
	ReadyChangedAt time.Time
	// WasReady says that the pod is known to have been ready at some time.
	WasReady bool
	// Restarts of the container.
	Restarts int32
	// OOMKilled says that the container's current or last termination was for want of memory.
	OOMKilled bool
}
