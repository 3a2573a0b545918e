package tuning

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// Units of a rung's texts. One place writes and reads them: figures.rung and readRung.
const (
	unitMilliseconds = "ms"
	unitPercent      = "%"
)

// reasons why a rung is not measured.
const (
	rungOutOfBounds = "OutOfBounds"
	rungUnfit       = "DoesNotFitMemory"
)

// figures are a rung in numbers; NaN where one is not known.
type figures struct {
	requestsPerCPUSecond, p99Seconds, memoryBytes, gcShare, gcSecondsPerRequest, slowShare float64
}

// MeasureRung says what the pods of a rung show, as ratios, whatever the length of the window. thresholdSeconds is that of the first latency
// objective; 0 for none. Like everywhere, the collector's CPU time counts only of pods that collected often enough; where none did, the result
// says so, and the other figures stand.
func MeasureRung(gogc int32, _ signal.Window, pods []signal.Pod, thresholdSeconds float64) v1alpha1.Rung {
	requests := func(p signal.Pod) signal.Value { return p.Requests }
	cpu := func(p signal.Pod) signal.Value { return p.CPUSeconds }
	gc := func(p signal.Pod) signal.Value { return p.GCCPUSeconds }
	resident := func(p signal.Pod) signal.Value { return p.ResidentBytes }
	latency, cycled := pooled(pods), collected(pods)
	rung := figures{
		requestsPerCPUSecond: orNaN(ratioOfSums(pods, requests, cpu)),
		p99Seconds:           quantile(latency, 0.99),
		memoryBytes:          orNaN(mean(pods, resident)),
		gcShare:              orNaN(ratioOfSums(cycled, gc, cpu)),
		gcSecondsPerRequest:  orNaN(ratioOfSums(cycled, gc, requests)),
		slowShare:            shareOver(latency, thresholdSeconds),
	}.rung(gogc)
	if len(pods) > 0 && len(cycled) == 0 {
		rung.Result = v1alpha1.ReasonTooFewGCCycles
	}
	return rung
}

// ranks says that a rung has figures to compare.
func ranks(rung v1alpha1.Rung) bool {
	return rung.Result == v1alpha1.ReasonMeasured || rung.Result == v1alpha1.ReasonTooFewGCCycles
}

// FailedRung is a rung that was not measured, with the reason in one word.
func FailedRung(gogc int32, reason string) v1alpha1.Rung {
	return v1alpha1.Rung{GOGC: gogc, Result: reason}
}

func orNaN(value signal.Value) float64 {
	if !value.OK() {
		return math.NaN()
	}
	return value.Number
}

// rung writes the figures as text.
func (f figures) rung(gogc int32) v1alpha1.Rung {
	rung := v1alpha1.Rung{
		GOGC: gogc, Result: v1alpha1.ReasonMeasured,
		RequestsPerCPUSecond: text(f.requestsPerCPUSecond, ""),
		P99:                  text(1000*f.p99Seconds, unitMilliseconds),
		GCCPU:                text(100*f.gcShare, unitPercent),
		GCCPUPerRequest:      text(1000*f.gcSecondsPerRequest, unitMilliseconds),
		SlowRequests:         text(100*f.slowShare, unitPercent),
	}
	if known(f.memoryBytes) && f.memoryBytes < math.MaxInt64 {
		rung.Memory = resource.NewQuantity(int64(f.memoryBytes), resource.BinarySI)
	}
	return rung
}

// readRung reads what rung writes. What is not there, or is not a number of the unit, is NaN.
func readRung(rung v1alpha1.Rung) figures {
	memory := math.NaN()
	if rung.Memory != nil {
		memory = float64(rung.Memory.Value())
	}
	return figures{
		requestsPerCPUSecond: number(rung.RequestsPerCPUSecond, ""),
		p99Seconds:           number(rung.P99, unitMilliseconds) / 1000,
		memoryBytes:          memory,
		gcShare:              number(rung.GCCPU, unitPercent) / 100,
		gcSecondsPerRequest:  number(rung.GCCPUPerRequest, unitMilliseconds) / 1000,
		slowShare:            number(rung.SlowRequests, unitPercent) / 100,
	}
}

func known(n float64) bool { return n >= 0 && !math.IsInf(n, 1) }

// text has four digits; empty where the number is not known.
func text(n float64, unit string) string {
	if !known(n) {
		return ""
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + unit
}

func number(text, unit string) float64 {
	digits, ok := strings.CutSuffix(text, unit)
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !known(n) {
		return math.NaN()
	}
	return n
}

// pooled adds the pods' latency histograms up. Nil where their edges differ: then nothing can be read of the sum.
func pooled(pods []signal.Pod) []signal.Bucket {
	var sum []signal.Bucket
	for _, pod := range pods {
		switch {
		case pod.LatencyState != signal.Present:
			continue
		case sum == nil:
			sum = append(sum, pod.Latency...)
			continue
		case len(sum) != len(pod.Latency):
			return nil
		}
		for i, bucket := range pod.Latency {
			if bucket.UpperBoundSeconds != sum[i].UpperBoundSeconds {
				return nil
			}
			sum[i].Count += bucket.Count
		}
	}
	return sum
}

// quantile is interpolated between two edges, as PromQL's histogram_quantile does it; the last finite edge where it lies above that,
// and NaN where there is no request.
func quantile(buckets []signal.Bucket, q float64) float64 {
	if len(buckets) == 0 || !(buckets[len(buckets)-1].Count > 0) {
		return math.NaN()
	}
	rank := q * buckets[len(buckets)-1].Count
	lower, below := 0.0, 0.0
	for _, bucket := range buckets {
		if bucket.Count >= rank {
			if math.IsInf(bucket.UpperBoundSeconds, 1) {
				return lower
			}
			return lower + (bucket.UpperBoundSeconds-lower)*(rank-below)/(bucket.Count-below)
		}
		lower, below = bucket.UpperBoundSeconds, bucket.Count
	}
	return math.NaN()
}

// shareOver a threshold is exact where the threshold is an edge, and NaN where it is none: between edges nothing is known.
func shareOver(buckets []signal.Bucket, thresholdSeconds float64) float64 {
	if len(buckets) == 0 || thresholdSeconds <= 0 {
		return math.NaN()
	}
	total := buckets[len(buckets)-1].Count
	for _, bucket := range buckets {
		if math.Abs(bucket.UpperBoundSeconds-thresholdSeconds) <= 1e-9*thresholdSeconds && total > 0 {
			return math.Max(0, 1-bucket.Count/total)
		}
	}
	return math.NaN()
}

// describedRung is one line of the table, for a reason.
func describedRung(rung v1alpha1.Rung) string {
	parts := []string{fmt.Sprintf("GOGC=%d", rung.GOGC)}
	for _, part := range []struct{ text, of string }{
		{rung.RequestsPerCPUSecond, "requests per CPU second"}, {rung.GCCPUPerRequest, "of GC CPU time per request"}, {rung.P99, "at the 99th percentile"},
	} {
		if part.text != "" {
			parts = append(parts, part.text+" "+part.of)
		}
	}
	return strings.Join(parts, ", ")
}
