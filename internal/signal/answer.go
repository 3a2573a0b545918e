package signal

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// ErrMalformed says that an answer is none to the query that was asked.
var ErrMalformed = errors.New("malformed answer")

// maxAnswerSkew is how far the time of an answer may lie from the time that was asked for. Prometheus repeats the time exactly; a cache in
// between that serves yesterday's answer doesn't.
const maxAnswerSkew = time.Minute

// roundingSlack is below what floating-point sums of counters can say; a difference of two equal counters may come out as -1e-16.
const roundingSlack = 1e-9

// readVector checks that a value is an answer to a query: an instant vector of the time that was asked for. If not, the error wraps ErrMalformed.
func readVector(name string, at time.Time, value model.Value) (model.Vector, error) {
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("query %s: %w: it is %s where an instant vector was asked for", name, ErrMalformed, kindOf(value))
	}
	for _, sample := range vector {
		if err := checkSample(at, sample); err != nil {
			return nil, fmt.Errorf("query %s: %w: %w", name, ErrMalformed, err)
		}
	}
	return vector, nil
}

func kindOf(value model.Value) string {
	if value == nil {
		return "empty"
	}
	return "a " + value.Type().String()
}

// checkSample refuses what JSON decoding lets pass: null in a list, and a sample without a value, which would read as the number 0.
func checkSample(at time.Time, sample *model.Sample) error {
	if sample == nil {
		return errors.New("it holds a null")
	}
	if sample.Histogram != nil {
		for _, bucket := range sample.Histogram.Buckets {
			if bucket == nil {
				return errors.New("it holds a null")
			}
		}
	}
	if of := sample.Timestamp.Time(); at.Sub(of).Abs() > maxAnswerSkew {
		return fmt.Errorf("it is of %s where %s was asked for", of.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	return nil
}

// Answer is what a policy's own query says of each pod.
type Answer map[string]Value

// ReadAnswer reads the answer to a policy's own query: one number for each pod that has the label pod. Series of pods that the request
// doesn't ask for are left out. Unlike what is counted, a number of a policy's own may be negative.
func ReadAnswer(request Request, name string, at time.Time, value model.Value) (Answer, error) {
	vector, err := readVector(name, at, value)
	if err != nil {
		return nil, err
	}
	answer := Answer{}
	for _, sample := range vector {
		pod := string(sample.Metric[labelPod])
		namespace, ok := sample.Metric[labelNamespace]
		if (ok && string(namespace) != request.Namespace) || !request.selects(pod) {
			continue
		}
		if _, ok := answer[pod]; ok {
			answer[pod] = Value{State: Ambiguous}
			continue
		}
		answer[pod] = finite(sample)
	}
	return answer, nil
}

// selects says that a pod is one of the request's.
func (r Request) selects(pod string) bool {
	return len(pod) > len(r.PodPrefix) && strings.HasPrefix(pod, r.PodPrefix)
}

// finite reads a sample. A native histogram is no number at all, though its Value field reads as 0.
func finite(sample *model.Sample) Value {
	n := float64(sample.Value)
	if sample.Histogram != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return Value{State: NotFinite}
	}
	return Value{Number: n, State: Present}
}

// number reads a sample of something that counts, so that a negative number is as good as none.
func number(sample *model.Sample) Value { return counted(finite(sample)) }

func counted(value Value) Value {
	switch {
	case !value.OK():
		return value
	case value.Number < -roundingSlack:
		return Value{State: NotFinite}
	}
	return Value{Number: max(value.Number, 0), State: Present}
}

// combine computes with two numbers, or passes on why one of them can't be used; that there is none at all goes first.
func combine(a, b Value, compute func(a, b float64) float64) Value {
	switch {
	case a.State == Absent || b.State == Absent:
		return Value{}
	case !a.OK():
		return Value{State: a.State}
	case !b.OK():
		return Value{State: b.State}
	}
	return number(&model.Sample{Value: model.SampleValue(compute(a.Number, b.Number))})
}

// first is the first value that is not absent.
func first(values ...Value) Value {
	for _, value := range values {
		if value.State != Absent {
			return value
		}
	}
	return Value{}
}
