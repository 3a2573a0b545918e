package verdict

import "time"

// Health is what the Kubernetes API says of the tuned container of a pod. It needs no Prometheus.
type Health struct {
	// Ready is the pod's Ready condition, ReadyChangedAt its last transition.
	Ready          bool
	ReadyChangedAt time.Time
	// Restarts of the container.
	Restarts int32
	// OOMKilled says that the container's current or last termination was for want of memory.
	OOMKilled bool
}
