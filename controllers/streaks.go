package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// streaks counts the looks in a row at which a strategy saw its optimum outside of the deadband. It is kept in memory alone: a manager that
// starts anew begins to count anew, and a count in the status would be a write at every look.
type streaks struct {
	mutex  sync.Mutex
	counts map[types.NamespacedName]int
}

func (s *streaks) count(policy types.NamespacedName) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.counts[policy]
}

func (s *streaks) saw(policy types.NamespacedName, outside bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !outside {
		delete(s.counts, policy)
		return
	}
	if s.counts == nil {
		s.counts = map[types.NamespacedName]int{}
	}
	s.counts[policy]++
}

func (s *streaks) forget(policy types.NamespacedName) { s.saw(policy, false) }
