package signal

import "time"

// minLevelViews is how many times a window needs to be cut into three.
const minLevelViews = 4

// levels cuts a window into three equal parts, at the times that lie nearest. A process that was not there throughout has no levels: that
// it grows while it starts says nothing.
func levels(views []view, whole span, p preset, histogram string) []Level {
	if len(views) < minLevelViews || whole.kind != spanWhole || !whole.earlier.at.Equal(views[0].at) {
		return nil
	}
	cuts := [...]int{0, nearestThird(views, 1), nearestThird(views, 2), len(views) - 1}
	found := make([]Level, 0, len(cuts)-1)
	for i := 1; i < len(cuts); i++ {
		if cuts[i] <= cuts[i-1] {
			return nil
		}
		found = append(found, level(views[cuts[i-1]:cuts[i]+1], p, histogram))
	}
	return found
}

func nearestThird(views []view, third int) int {
	start := views[0].at
	cut := start.Add(time.Duration(third) * views[len(views)-1].at.Sub(start) / 3)
	nearest := 0
	for i, v := range views {
		if v.at.Sub(cut).Abs() < views[nearest].at.Sub(cut).Abs() {
			nearest = i
		}
	}
	return nearest
}

func level(views []view, p preset, histogram string) Level {
	s := newSpan(views)
	var rate Value
	if histogram != "" {
		requests, _ := s.countRequests(p, histogram)
		took := Value{Number: s.later.sampledAt() - s.earlier.sampledAt(), State: Present}
		if took.Number > 0 {
			rate = combine(requests, took, func(requests, took float64) float64 { return requests / took })
		}
	}
	return Level{
		RequestsPerSecond:   rate,
		Goroutines:          mean(views[1:], scalarGoroutines, scalarOTelGoroutines),
		OpenFileDescriptors: mean(views[1:], scalarOpenFiles),
		LiveHeapBytes:       mean(views[1:], scalarLiveHeap),
	}
}
