package signal

import "unique"

// startSlack is how far two readings of one process' start may lie apart: it is computed from the time since boot, and that from a clock
// that is set (https://github.com/prometheus/client_golang/issues/526).
const startSlack = 2

// spanKind says what can be known of a process between two times.
type spanKind int

const (
	// spanBlind: nobody saw the process at the earlier time, and it is older. What it counted meanwhile is unknown.
	spanBlind spanKind = iota
	// spanWhole: the same process was seen at both times.
	spanWhole
	// spanYoung: the process started after the earlier time, so that all that it ever counted lies between them.
	spanYoung
	// spanDoubtful: several claim to be the process at one of the times: two jobs scrape it, two Prometheus replicas report it, or its
	// labels are changing. Sums over them would be wrong.
	spanDoubtful
)

// span is a pod between two times.
type span struct {
	earlier, later view
	kind           spanKind
}

// newSpan looks at a pod from the first of several times to the last. Where it was not scraped at the first one though its process was
// there, or by two at once, the next time at which it was seen clearly stands in.
func newSpan(views []view) span {
	s := span{later: views[len(views)-1]}
	start := s.later.scalar(scalarStart)
	if s.later.endpoints() > 1 {
		s.kind = spanDoubtful
		return s
	}
	if start.OK() && start.Number >= float64(views[0].at.UnixMilli())/1000 && !sameProcess(views[0], start) {
		s.kind = spanYoung
		return s
	}
	for _, v := range views[:len(views)-1] {
		switch endpoints := v.endpoints(); {
		case endpoints == 1:
			s.earlier = v
			s.kind = kindBetween(v.scalar(scalarStart), start)
			return s
		case endpoints > 1:
			s.kind = spanDoubtful
		}
	}
	return s
}

// sameProcess says that a process which claims to have started later was seen already: the clocks of its node and of Prometheus differ.
func sameProcess(v view, start Value) bool {
	before := v.scalar(scalarStart)
	return before.OK() && kindBetween(before, start) == spanWhole
}

func kindBetween(before, after Value) spanKind {
	switch {
	case !before.OK() || !after.OK():
		return spanWhole
	case after.Number > before.Number+startSlack:
		return spanYoung
	case after.Number < before.Number-startSlack:
		return spanDoubtful
	}
	return spanWhole
}

// increase is by how much a counter grew, as a raw count: PromQL's increase() extrapolates to the window's edges, and loses what a series
// counted before it was first scraped. What of a series that the process did not have at the earlier time? Its last value is the
// increase: that the series was not there, rather than the scrape having failed, shows in that the process was seen. A counter
// that fell though the process is the same says that it is not one counter.
func (s span) increase(before, after Value) Value {
	switch {
	case after.State == Absent:
		return Value{}
	case s.kind == spanDoubtful:
		return Value{State: Ambiguous}
	case s.kind == spanBlind:
		return Value{}
	case !after.OK(), s.kind == spanYoung, before.State == Absent:
		return after
	case !before.OK():
		return Value{State: before.State}
	case after.Number < before.Number-roundingSlack*max(before.Number, 1):
		return Value{State: Ambiguous}
	}
	return Value{Number: max(after.Number-before.Number, 0), State: Present}
}

// counter is the increase of the first scalar that the process exposes.
func (s span) counter(indices ...scalar) Value {
	for _, index := range indices {
		if after := s.later.scalar(index); after.State != Absent {
			return s.increase(s.earlier.scalar(index), after)
		}
	}
	return Value{}
}

// containerCounter is the increase of a counter of cAdvisor, which scrapes on its own account: that it had no series of a container yet says
// nothing of what the container had counted.
func (s span) containerCounter(index scalar) Value {
	before := s.earlier.scalar(index)
	if s.kind == spanWhole && before.State == Absent {
		return Value{}
	}
	return s.increase(before, s.later.scalar(index))
}

// gauge is the last value of the first scalar that the process exposes.
func (s span) gauge(indices ...scalar) Value {
	values := make([]Value, len(indices))
	for i, index := range indices {
		values[i] = s.later.scalar(index)
	}
	return first(values...)
}

// histogram is what a histogram counted between the times.
func (s span) histogram(p preset, metric string) histogram {
	after := s.later.histogram(p, metric)
	switch {
	case after.state == Absent, s.kind == spanBlind:
		return histogram{}
	case s.kind == spanDoubtful:
		return histogram{state: Ambiguous}
	case s.kind == spanYoung || after.state != Present:
		return after
	}
	before := s.earlier.histogram(p, metric)
	switch before.state {
	case Absent:
		return after
	case Present:
		return after.minus(before)
	}
	return before
}

// total adds up the increases of the series of a metric, those with a status that says something, and those that failed.
type total struct{ requests, known, failed Value }

// sum adds up what of takes from each series. A series that ended though its process goes on is a counter that fell.
func (s span) sum(p preset, metric string, of func(series) Value) total {
	after, state := s.later.series(p, metric)
	if state != Present {
		return total{requests: Value{State: state}}
	}
	earlier := map[unique.Handle[source]]Value{}
	if s.kind == spanWhole {
		before, state := s.earlier.series(p, metric)
		if state == Ambiguous {
			return total{requests: Value{State: Ambiguous}}
		}
		for _, one := range before {
			earlier[one.source] = of(one)
		}
	}
	sums := total{requests: Value{State: Present}, known: Value{State: Present}, failed: Value{State: Present}}
	seen := 0
	for _, one := range after {
		before, ok := earlier[one.source]
		if ok {
			seen++
		}
		grown := s.increase(before, of(one))
		if !grown.OK() {
			return total{requests: Value{State: grown.State}}
		}
		sums.add(grown.Number, p.status(one.source.Value().code(p.codeLabels)))
	}
	switch {
	case seen < len(earlier):
		return total{requests: Value{State: Ambiguous}}
	case !finiteNumber(sums.requests.Number):
		return total{requests: Value{State: NotFinite}}
	}
	return sums
}
