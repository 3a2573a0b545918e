package tuning

import (
	"fmt"
	"time"

	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// flatTraffic is how far the traffic of a window's parts may differ, the largest over the smallest less 1: what grows with traffic is no leak.
	flatTraffic = 0.20
	// growth over a window is a leak's only from this share of the level at its start on, and from the floors of each kind on.
	growth                        = 0.10
	minGoroutines, minDescriptors = 100, 20
	minLiveHeapBytes              = 8 << 20
	descriptorsFull               = 0.80
	// settledAfter is how old a process must be when the window begins: before, caches and pools still fill.
	settledAfter = 5 * time.Minute
)

// Growth counts the pods in which a level grows, and has the levels of the one that ends highest.
type Growth struct {
	Pods     int
	From, To float64
}

func (g *Growth) add(from, to float64) {
	g.Pods++
	if to > g.To {
		g.From, g.To = from, to
	}
}

// widespread says that at least half of the pods show it: one alone is a pod's trouble, not the program's.
func (g Growth) widespread(pods int) bool { return g.Pods > 0 && 2*g.Pods >= pods }

func (o *Observation) observeGrowth(window signal.Window, pods []signal.Pod) {
	began := float64(window.End.Add(-window.Length).UnixMilli()) / 1000
	for _, pod := range pods {
		if above(pod.MaxFileDescriptors, 0) && above(pod.OpenFileDescriptors, descriptorsFull*pod.MaxFileDescriptors.Number) {
			o.FullDescriptors.add(pod.OpenFileDescriptors.Number, pod.MaxFileDescriptors.Number)
		}
		settled := pod.ProcessStartSeconds.OK() && began-pod.ProcessStartSeconds.Number >= settledAfter.Seconds()
		if !settled || !flat(pod.Levels) {
			continue
		}
		for _, kind := range []struct {
			growth *Growth
			floor  float64
			level  func(signal.Level) signal.Value
		}{
			{&o.Goroutines, minGoroutines, func(l signal.Level) signal.Value { return l.Goroutines }},
			{&o.OpenFileDescriptors, minDescriptors, func(l signal.Level) signal.Value { return l.OpenFileDescriptors }},
			{&o.LiveHeap, minLiveHeapBytes, func(l signal.Level) signal.Value { return l.LiveHeapBytes }},
		} {
			if from, to, grows := grown(pod.Levels, kind.level, kind.floor); grows {
				kind.growth.add(from, to)
			}
		}
	}
}

func flat(levels []signal.Level) bool {
	if len(levels) < 3 {
		return false
	}
	least, most := levels[0].RequestsPerSecond.Number, levels[0].RequestsPerSecond.Number
	for _, level := range levels {
		if !above(level.RequestsPerSecond, 0) {
			return false
		}
		least, most = min(least, level.RequestsPerSecond.Number), max(most, level.RequestsPerSecond.Number)
	}
	return most <= (1+flatTraffic)*least
}

// grown says that a level rises from part to part, and by how much.
func grown(levels []signal.Level, of func(signal.Level) signal.Value, floor float64) (from, to float64, grows bool) {
	for i, level := range levels {
		value := of(level)
		switch {
		case !value.OK(), i > 0 && value.Number <= to:
			return 0, 0, false
		case i == 0:
			from = value.Number
		}
		to = value.Number
	}
	return from, to, to-from >= max(growth*from, floor)
}

// leak says what grows though nothing asks for it; empty where nothing does.
func leak(seen Observation) string {
	const mebibyte = 1 << 20
	switch {
	case seen.FullDescriptors.widespread(seen.Pods):
		g := seen.FullDescriptors
		return fmt.Sprintf("%.0f of %.0f file descriptors are open in a process (%d of %d pods have more than 80%% open): no setting cures a leak; "+
			"see what opens them, or raise the limit", g.From, g.To, g.Pods, seen.Pods)
	case seen.Goroutines.widespread(seen.Pods):
		g := seen.Goroutines
		return fmt.Sprintf("goroutines grow at flat traffic, from %.0f to %.0f in a pod (%d of %d pods): no setting cures a leak; take a goroutine "+
			"profile", g.From, g.To, g.Pods, seen.Pods)
	case seen.OpenFileDescriptors.widespread(seen.Pods):
		g := seen.OpenFileDescriptors
		return fmt.Sprintf("open file descriptors grow at flat traffic, from %.0f to %.0f in a pod (%d of %d pods): no setting cures a leak; see "+
			"what opens them", g.From, g.To, g.Pods, seen.Pods)
	case seen.LiveHeap.widespread(seen.Pods):
		g := seen.LiveHeap
		return fmt.Sprintf("the live heap grows at flat traffic, from %.0f to %.0f MiB in a pod (%d of %d pods): no setting cures a leak; take a "+
			"heap profile", g.From/mebibyte, g.To/mebibyte, g.Pods, seen.Pods)
	}
	return ""
}
