package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// Pod is a pod of the target, as the API server has it.
type Pod struct {
	UID  types.UID
	Name string
	// Version is the pod's resourceVersion.
	Version string
	// Revision of the pod template: the UID of the ReplicaSet that controls the pod, or did before it was handed over, or its
	// controller-revision-hash.
	Revision types.UID
	// Pinned says that a successor would be of another revision, which only a person may want: the pod is never replaced.
	Pinned bool
	// HandedOver says that the pod was taken from its ReplicaSet, and serves on until a successor is available.
	HandedOver bool
	// DropFirst says that gopacer asked the ReplicaSet to drop this pod before others.
	DropFirst bool
	CreatedAt time.Time
	// FirstReadyAt is when the pod became Ready; zero while it is not, and once a container of it has restarted, since the API server tells the
	// latest change only.
	FirstReadyAt time.Time
	// Node that the pod runs on; empty until it is scheduled.
	Node string
	// MemoryLimitBytes of the tuned container; 0 where it has none.
	MemoryLimitBytes int64
	// Terminating says that the pod is being deleted.
	Terminating bool
	// Settings are the managed keys in the environment of the tuned container.
	Settings settings.Settings
	// Unreadable says why Settings could not be read from the pod; empty where they were. Settings mean nothing then.
	Unreadable string
	// Given says that gopacer wrote the settings when the pod was created.
	Given bool
	// Cohort is the pod's cohort label, for people; who is canary is in the slots.
	Cohort string
	verdict.Health
}
