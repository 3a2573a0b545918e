package controllers

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/schedule"
)

var weekdays = map[v1alpha1.Weekday]time.Weekday{
	"Mon": time.Monday, "Tue": time.Tuesday, "Wed": time.Wednesday, "Thu": time.Thursday, "Fri": time.Friday, "Sat": time.Saturday, "Sun": time.Sunday,
}

// windows resolves what the CRD can't check: whether there is such a time zone.
func windows(spec []v1alpha1.MaintenanceWindow) ([]schedule.Window, error) {
	var resolved []schedule.Window
	for i, one := range spec {
		field := fmt.Sprintf("spec.schedule.windows[%d]", i)
		place, err := time.LoadLocation(one.TimeZone)
		if err != nil || one.TimeZone == "Local" {
			return nil, fmt.Errorf("%s.timeZone: there is no time zone %q: give a name of the IANA time zone database, such as Europe/Berlin", field, one.TimeZone)
		}
		start, err := time.Parse("15:04", one.Start)
		if err != nil {
			return nil, fmt.Errorf("%s.start: %q is no time of day, such as 22:00", field, one.Start)
		}
		window := schedule.Window{
			Location: place, Start: time.Duration(start.Hour())*time.Hour + time.Duration(start.Minute())*time.Minute,
			Length: min(one.Duration.Duration, schedule.MaxLength),
		}
		for _, day := range one.Days {
			weekday, known := weekdays[day]
			if !known {
				return nil, fmt.Errorf("%s.days: %q is no day, such as Mon", field, day)
			}
			window.Days = append(window.Days, weekday)
		}
		resolved = append(resolved, window)
	}
	return resolved, nil
}

// notNow says why a trial that costs so many pods may not start now, though nothing is wrong; nil where it may.
func (p *pass) notNow(cost int) *summary {
	if waiting := p.waitForSteadyReplicas(); waiting != nil {
		return waiting
	}
	if waiting := p.waitForQuiet(); waiting != nil {
		return waiting
	}
	if open, next := schedule.Open(p.plan.windows, p.now); !open {
		p.wait = min(p.wait, next.Sub(p.now))
		outside := well(v1alpha1.ReasonOutsideWindow, "a trial starts in a window of spec.schedule.windows: the next opens at "+next.UTC().Format(time.RFC3339))
		return &outside
	}
	return p.overBudget(cost)
}

func (p *pass) overBudget(cost int) *summary {
	budget, spent := int(p.policy.Spec.Schedule.ReplacementsPerWeek), p.policy.Status.Replacements
	if budget == 0 {
		return nil
	}
	at, ever := schedule.Fits(spent, p.now, cost, budget)
	switch {
	case !ever:
		never := stalled(v1alpha1.ReasonReplacementBudgetSpent, fmt.Sprintf("a trial takes up to %d replacements, and spec.schedule.replacementsPerWeek is %d: "+
			"raise it, or have fewer canary pods in the last step", cost, budget))
		return &never
	case at.After(p.now):
		p.wait = min(p.wait, at.Sub(p.now))
		spent := well(v1alpha1.ReasonReplacementBudgetSpent, fmt.Sprintf("%d pods were replaced within a week, a trial takes up to %d, and "+
			"spec.schedule.replacementsPerWeek is %d: there is room at %s", schedule.Used(spent, p.now), cost, budget, at.UTC().Format(time.RFC3339)))
		return &spent
	}
	return nil
}

// countReplaced adds pods that were replaced since the last write to the budget's days.
func (p *pass) countReplaced(since int) {
	p.counted = since
	if p.policy.Spec.Schedule.ReplacementsPerWeek == 0 {
		p.policy.Status.Replacements = nil
		return
	}
	counted := schedule.Count(p.policy.Status.Replacements, p.now, since)
	if !slices.Equal(counted, p.policy.Status.Replacements) {
		p.policy.Status.Replacements = counted
	}
}

// replaced remembers, for a policy, how many pods were evicted since its status was last written. It is memory only: a manager that dies may
// forget those of one look, and the budget is no invariant.
type replaced struct {
	mutex sync.Mutex
	since map[types.NamespacedName]int
}

func (r *replaced) add(policy types.NamespacedName, pods int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.since == nil {
		r.since = map[types.NamespacedName]int{}
	}
	if r.since[policy] += pods; r.since[policy] <= 0 {
		delete(r.since, policy)
	}
}

func (r *replaced) count(policy types.NamespacedName) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.since[policy]
}

func (r *replaced) forget(policy types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.since, policy)
}
