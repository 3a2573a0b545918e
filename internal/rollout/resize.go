package rollout

import (
	"fmt"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// revertIfResized ends a trial whose canary pods no longer have the memory limit that it began with: the candidate is for that one, and a pod with
// more or less memory is not to be compared with the others. A pod's limit changes without its template in a resize in place (KEP-1287).
func (m *machine) revertIfResized() bool {
	for _, pod := range m.canaries() {
		if m.resized(pod) {
			return m.revert(v1alpha1.ReasonSuperseded, fmt.Sprintf("canary pod %s was resized: its memory limit is not the template's", pod.Name))
		}
	}
	return false
}

func (m *machine) resized(pod Pod) bool {
	footing, err := settings.FootingFromAPI(m.trial.Footing)
	return err == nil && pod.Revision == m.trial.Revision && pod.ResizedFrom(footing)
}

// ResizedFrom says that a pod has another memory limit than its template declares.
func (p Pod) ResizedFrom(declared settings.Footing) bool {
	return p.Unreadable == "" && p.MemoryLimitBytes != declared.MemoryLimitBytes
}
