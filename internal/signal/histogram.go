package signal

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unique"

	"github.com/prometheus/common/model"
)

// histogram is a classic or a native one at one time: how many observations were at most so large, at the edges where that is known.
type histogram struct {
	// edges ascend and end with +Inf. Thousands of histograms have the same, so they are kept once, eight bytes each.
	edges unique.Handle[string]
	// counts are cumulative, one for each edge.
	counts []float64
	// state is Present where the rest can be used.
	state State
}

// point is an edge and the observations up to it.
type point struct{ edge, count float64 }

// newHistogram takes points in any order. Only a whole histogram is Present: with a last edge at +Inf, finite counts, and counts that
// never fall from edge to edge. Where label sets of one histogram have different edges, their sum counts too few at some edges, so a
// share of fast requests read from it errs towards slow.
func newHistogram(points []point) histogram {
	if len(points) == 0 {
		return histogram{}
	}
	for _, p := range points {
		if math.IsNaN(p.edge) || math.IsInf(p.edge, -1) || !countable(p.count) {
			return histogram{state: NotFinite}
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.edge, b.edge) })
	if state := evenOut(points); state != Present {
		return histogram{state: state}
	}
	counts := make([]float64, len(points))
	for i, p := range points {
		counts[i] = max(p.count, 0)
	}
	return histogram{edges: packEdges(points), counts: counts, state: Present}
}

func countable(count float64) bool {
	return !math.IsNaN(count) && !math.IsInf(count, 0) && count >= -roundingSlack
}

// evenOut lifts counts that fall by a rounding error, as Prometheus' own histogram_quantile does. A real fall, or one edge twice
// (le="1" and le="1.0"), says that the buckets are not of one histogram.
func evenOut(points []point) State {
	last := points[len(points)-1]
	if !math.IsInf(last.edge, 1) {
		return NotFinite
	}
	slack := roundingSlack * max(last.count, 1)
	for i := 1; i < len(points); i++ {
		lower, upper := points[i-1], &points[i]
		if lower.edge == upper.edge || upper.count < lower.count-slack {
			return Ambiguous
		}
		upper.count = max(upper.count, lower.count)
	}
	return Present
}

// classicPoint reads a sample of a _bucket series.
func classicPoint(sample *model.Sample) point {
	edge, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64)
	if err != nil || sample.Histogram != nil {
		edge = math.NaN()
	}
	return point{edge, float64(sample.Value)}
}

// nativeHistogram reads a native one. Only buckets with observations come; between them the cumulative count is flat, so that it is
// known at every bound, lower ones too. Negative bounds are left out: nothing lasts less than no time. The zero bucket has one.
func nativeHistogram(native *model.SampleHistogram) histogram {
	buckets := slices.Clone(native.Buckets)
	slices.SortFunc(buckets, func(a, b *model.HistogramBucket) int { return cmp.Compare(a.Upper, b.Upper) })
	var points []point
	count, before := 0.0, math.Inf(-1)
	for _, bucket := range buckets {
		lower, upper := float64(bucket.Lower), float64(bucket.Upper)
		if lower > before && lower >= 0 {
			points = append(points, point{lower, count})
		}
		count += float64(bucket.Count)
		if !math.IsInf(upper, 1) && upper >= 0 {
			points = append(points, point{upper, count})
		}
		before = upper
	}
	// NaN observations count in no bucket.
	return newHistogram(append(points, point{math.Inf(1), max(count, float64(native.Count))}))
}

func packEdges(points []point) unique.Handle[string] {
	packed := make([]byte, 0, 8*len(points))
	for _, p := range points {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(p.edge))
	}
	return unique.Make(string(packed))
}

// points are those with finite edges first, and +Inf last; none unless the histogram is Present.
func (h histogram) points() []point {
	points := make([]point, len(h.counts))
	if len(points) == 0 {
		return points
	}
	packed := []byte(h.edges.Value())
	for i := range points {
		points[i] = point{math.Float64frombits(binary.LittleEndian.Uint64(packed[8*i:])), h.counts[i]}
	}
	return points
}

// upTo is the count up to an edge, where it is known: at an edge of the histogram's own, and between two with nothing between them.
func upTo(points []point, edge float64) (float64, bool) {
	i, found := slices.BinarySearchFunc(points, edge, func(p point, edge float64) int { return cmp.Compare(p.edge, edge) })
	if found {
		return points[i].count, true
	}
	below := 0.0
	if i > 0 {
		below = points[i-1].count
	}
	return below, i < len(points) && points[i].count == below
}

// combineHistograms computes at the edges at which all histograms are known.
func combineHistograms(all []histogram, compute func(counts []float64) float64) histogram {
	each := make([][]point, len(all))
	var edges []float64
	for i, one := range all {
		if one.state != Present {
			return histogram{state: one.state}
		}
		each[i] = one.points()
		for _, p := range each[i] {
			edges = append(edges, p.edge)
		}
	}
	slices.Sort(edges)
	var points []point
	counts := make([]float64, len(all))
	for _, edge := range slices.Compact(edges) {
		known := true
		for i := range each {
			count, ok := upTo(each[i], edge)
			counts[i], known = count, known && ok
		}
		if known {
			points = append(points, point{edge, compute(counts)})
		}
	}
	return newHistogram(points)
}

// sumHistograms adds up histograms of different labels.
func sumHistograms(all []histogram) histogram {
	if len(all) == 1 {
		return all[0]
	}
	return combineHistograms(all, func(counts []float64) float64 {
		sum := 0.0
		for _, count := range counts {
			sum += count
		}
		return sum
	})
}

// minus is what came between two times. A count that fell is Ambiguous: nothing is taken out of a histogram.
func (h histogram) minus(earlier histogram) histogram {
	fell := false
	difference := combineHistograms([]histogram{h, earlier}, func(counts []float64) float64 {
		change := counts[0] - counts[1]
		fell = fell || change < -roundingSlack*max(counts[0], 1)
		return max(change, 0)
	})
	if fell {
		return histogram{state: Ambiguous}
	}
	return difference
}

// buckets are the histogram in seconds.
func (h histogram) buckets(secondsPerUnit float64) ([]Bucket, State) {
	if h.state != Present {
		return nil, h.state
	}
	buckets := make([]Bucket, 0, len(h.counts))
	for _, p := range h.points() {
		buckets = append(buckets, Bucket{UpperBoundSeconds: scale(p.edge, secondsPerUnit), Count: p.count})
	}
	return buckets, Present
}

// scale divides rather than multiplies milliseconds: 250 by 1000 is the float that 0.25 is written as, 250 times 0.001 may not be.
func scale(edge, secondsPerUnit float64) float64 {
	if secondsPerUnit == milliseconds {
		return edge / 1000
	}
	return edge * secondsPerUnit
}
