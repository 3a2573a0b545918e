package signal

import "math"

func (t *total) add(count float64, status status) {
	t.requests.Number += count
	if status != statusNone {
		t.known.Number++
	}
	if status == statusFailed {
		t.failed.Number += count
	}
}

func finiteNumber(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

func (s series) count() Value { return s.value }

// sumOf is the sum of a native histogram; of a classic one it is a series of its own.
func (s series) sumOf() Value {
	if s.native == nil {
		return Value{}
	}
	return s.native.sum
}

// countRequests counts the requests of a pod by status. A pod that never failed has no series of a failure and has 0 failures, but only
// where some series has a status at all: without that label nothing says what failed, and failures are Absent.
// A few series without status are tolerated, since OpenTelemetry leaves it out where a connection broke before the response.
func (s span) countRequests(p preset, histogram string) (requests, failed Value) {
	for _, metric := range []string{p.counter, histogram + suffixCount, histogram} {
		counted := s.sum(p, metric, series.count)
		switch {
		case counted.requests.State == Absent:
			continue
		case !counted.requests.OK():
			return counted.requests, counted.requests
		case counted.known.Number == 0:
			return counted.requests, Value{}
		}
		return counted.requests, counted.failed
	}
	return Value{}, Value{}
}

// requestSeconds is the time that all requests took together.
func (s span) requestSeconds(p preset, histogram string) Value {
	taken := s.sum(p, histogram+suffixSum, series.count).requests
	if taken.State == Absent {
		taken = s.sum(p, histogram, series.sumOf).requests
	}
	if taken.OK() {
		taken.Number = scale(taken.Number, p.secondsPerUnit)
	}
	return taken
}
