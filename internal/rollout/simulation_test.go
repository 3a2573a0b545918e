package rollout

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// oneSeed replays one schedule, with its story: go test ./internal/rollout -run TestI1 -v -seed 1234
var oneSeed = flag.Uint64("seed", 0, "replay the one random schedule of this seed, and tell its story")

const (
	schedules = 1500
	// allCalm is when lasting incidents end, mostTime when a trial must have ended.
	allCalm  = 45 * time.Minute
	mostTime = 3 * time.Hour
)

// spoilers are incidents after which a promotion may leave pods to the drift sweep.
var spoilers = []string{
	"webhook", "Git", "new revision", "policy deleted", "evictions denied", "paused", "stuck", "never ready", "outage", "zero", "hold", "unready", "away", "clock", "quota",
}

var candidates = []settings.Settings{{GOGC: 200}, {GOGC: 200, MemoryLimitBytes: 900 << 20}, {GOGC: settings.Off, MemoryLimitBytes: 512 << 20}}

// schedule is what a seed stands for.
type schedule struct {
	manager   *manager
	incidents []incident
}

func newSchedule(seed uint64) schedule {
	random := rand.New(rand.NewPCG(seed, 2))
	w := newWorld(seed, 6+random.IntN(7))
	w.stable = seed%3 == 0
	pick := func(p float64) bool { return random.Float64() < p }
	if pick(0.3) {
		w.late = 0.15
	}
	if pick(0.3) {
		w.stale, w.doubleGrant = 0.2, 0.5
	}
	if pick(0.3) {
		w.startup, w.grace = [2]int{2, 40}, [2]int{1, 60}
	}
	if pick(0.3) {
		w.plan.MaxUnavailable = intstr.FromInt32(int32(1 + random.IntN(3)))
	}
	if pick(0.3) {
		w.plan.Steps = []Step{{intstr.FromString("10%"), 20 * time.Second}, {intstr.FromString("12%"), 10 * time.Second}, {intstr.FromString("50%"), time.Minute}}
	}
	var promoted *settings.Settings
	if pick(0.4) {
		promoted = &settings.Settings{GOGC: 150}
	}
	if pick(0.5) && !w.stable {
		w.surge = 1 + random.IntN(3)
		if pick(0.3) {
			w.minReady = 15 * time.Second
		}
		if pick(0.3) {
			w.guarded = true
		}
	}
	s := schedule{manager: newManager(w, candidates[random.IntN(len(candidates))], promoted)}
	s.manager.looksTwice = pick(0.2)
	names := slices.Sorted(maps.Keys(kinds))
	for range random.IntN(7) {
		name := names[random.IntN(len(names))]
		s.incidents = append(s.incidents, incident{time.Duration(random.IntN(700)) * time.Second, name, kinds[name]})
	}
	slices.SortStableFunc(s.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
	s.incidents = append(s.incidents, incident{allCalm, "calm", calm})
	return s
}

func (s schedule) names() string {
	var names []string
	for _, incident := range s.incidents[:len(s.incidents)-1] {
		names = append(names, fmt.Sprintf("%s at %s", incident.name, incident.at))
	}
	return strings.Join(names, ", ")
}

// play runs a schedule to its end, and looks at what is left.
func (s schedule) play() {
	m := s.manager
	m.runUntil(mostTime, s.incidents)
	if trial := m.status().trial; trial != nil {
		m.violate("liveness", "the trial is still in stage %s, step %d: %+v", trial.Stage, trial.Step, trial.Verdict)
		return
	}
	s.settle(spoilers)
}

// settle lets the rest land, and holds what the pods run against how the trial ended.
func (s schedule) settle(spoilers []string) {
	m := s.manager
	for i := range 3 * int(ProgressDeadline/time.Second) {
		if i == 60 {
			calm(m)
		}
		if i > 60 && len(m.find(func(pod *worldPod) bool { return pod.HandedOver || pod.DropFirst })) == 0 {
			break
		}
		m.tick()
		m.actOn(Replace(m.view(), nil)) // as the manager does at every look, with a trial or without
	}
	spoiled := m.stale > 0 || spoilers == nil || slices.ContainsFunc(spoilers, func(name string) bool { return strings.Contains(s.names(), name) })
	for _, pod := range m.pods {
		tuned := runs(pod.Pod, m.candidate)
		byRight := m.candidate == m.footings[pod.Revision].Declared
		switch {
		case pod.Terminating:
		case pod.HandedOver, pod.DropFirst:
			m.violate("liveness", "pod %s is left over: handed over %t, to be dropped first %t", pod.Name, pod.HandedOver, pod.DropFirst)
		case m.record.Result == v1alpha1.TrialReverted && tuned && !byRight:
			m.violate("liveness", "the trial was reverted for %s, and pod %s still runs the candidate", m.record.Reason, pod.Name)
		case m.record.Result == v1alpha1.TrialPromoted && !tuned && !spoiled:
			m.violate("liveness", "the trial was promoted, and pod %s does not run the candidate", pod.Name)
		}
	}
}

// report is what all schedules together have shown.
type report struct {
	violations map[string][]string
	endings    map[string]int
	looks      int
}

// simulated plays all schedules, once for all tests.
var simulated = sync.OnceValue(func() report {
	total := report{map[string][]string{}, map[string]int{}, 0}
	var lock sync.Mutex
	var group sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range seeds {
				s := newSchedule(seed)
				s.play()
				lock.Lock()
				total.add(seed, s)
				lock.Unlock()
			}
		})
	}
	for seed := range uint64(schedules) {
		seeds <- seed + 1
	}
	close(seeds)
	group.Wait()
	return total
})

func (r *report) add(seed uint64, s schedule) {
	m := s.manager
	for _, found := range m.found {
		r.violations[found.invariant] = append(r.violations[found.invariant], fmt.Sprintf("seed %d (%s): %s", seed, s.names(), found.message))
	}
	r.looks += m.looks
	if m.record != nil {
		r.endings[string(m.record.Result)+" "+m.record.Reason]++
	}
}

// inSimulation fails where any schedule broke the invariant.
func inSimulation(t *testing.T, invariant string) {
	t.Helper()
	if *oneSeed != 0 {
		s := newSchedule(*oneSeed)
		s.manager.trace = t.Logf
		s.play()
		for _, found := range s.manager.found {
			t.Errorf("%s: %s", found.invariant, found.message)
		}
		return
	}
	found := simulated().violations[invariant]
	for _, message := range found[:min(5, len(found))] {
		t.Errorf("%s (of %d): %s", invariant, len(found), message)
	}
}

// TestLiveness: every trial ends, and leaves the pods as the status says.
func TestLiveness(t *testing.T) {
	inSimulation(t, "liveness")
}

func TestBounds(t *testing.T) {
	inSimulation(t, "bounds")
}

// TestSimulationReaches guards the simulation itself: it must see every way in which a trial can end.
func TestSimulationReaches(t *testing.T) {
	if *oneSeed != 0 {
		return
	}
	total := simulated()
	t.Logf("%d looks; %v", total.looks, total.endings)
	for _, reason := range []string{
		"Promoted Promoted", "Reverted " + v1alpha1.ReasonLatencyBreached, "Reverted " + v1alpha1.ReasonSharedBreach, "Reverted " + v1alpha1.ReasonNoGain,
		"Reverted " + v1alpha1.ReasonNotApplied, "Reverted " + v1alpha1.ReasonNoData, "Reverted " + v1alpha1.ReasonRestarted, "Reverted " + v1alpha1.ReasonOOMKilled,
		"Reverted " + v1alpha1.ReasonNotReady, "Reverted " + v1alpha1.ReasonNotAdmitted, "Reverted " + v1alpha1.ReasonSuperseded,
		"Reverted " + v1alpha1.ReasonSuspended, "Reverted " + v1alpha1.ReasonPolicyDeleted, "Reverted " + v1alpha1.ReasonProgressDeadlineExceeded,
	} {
		if total.endings[reason] == 0 {
			t.Errorf("no trial ended as %s", reason)
		}
	}
}
