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

// Answer is what Prometheus answered to one query, sorted by pod.
type Answer struct {
	name QueryName
	pods map[string][]*model.Sample
}

// ReadAnswer checks that a value is an answer to a query. Series without a pod, or of pods that the request doesn't ask for, are left out;
// a value of another type than an instant vector, or of another time, is an error that wraps ErrMalformed.
func ReadAnswer(request Request, query Query, value model.Value) (Answer, error) {
	vector, ok := value.(model.Vector)
	if !ok {
		return Answer{}, fmt.Errorf("query %s: %w: it is %s where an instant vector was asked for", query.Name, ErrMalformed, kindOf(value))
	}
	answer := Answer{name: query.Name, pods: make(map[string][]*model.Sample)}
	for _, sample := range vector {
		if err := checkSample(request, sample); err != nil {
			return Answer{}, fmt.Errorf("query %s: %w: %w", query.Name, ErrMalformed, err)
		}
		if pod := podOf(request, sample.Metric); pod != "" {
			answer.pods[pod] = append(answer.pods[pod], sample)
		}
	}
	return answer, nil
}

func kindOf(value model.Value) string {
	if value == nil {
		return "empty"
	}
	return "a " + value.Type().String()
}

// checkSample refuses what JSON decoding lets pass: null in a list, and a sample without a value, which would read as the number 0.
func checkSample(request Request, sample *model.Sample) error {
	if sample == nil {
		return errors.New("it holds a null")
	}
	at := sample.Timestamp.Time()
	if skew := request.End.Sub(at).Abs(); skew > maxAnswerSkew {
		return fmt.Errorf("it is of %s where %s was asked for", at.UTC().Format(time.RFC3339), request.End.UTC().Format(time.RFC3339))
	}
	return nil
}

// podOf is the pod of a series, empty where the series is not of the request's pods. The matchers of the query say the same; this holds
// against a server that ignores them.
func podOf(request Request, metric model.Metric) string {
	if namespace, ok := metric[labelNamespace]; ok && string(namespace) != request.Namespace {
		return ""
	}
	pod := string(metric[labelPod])
	if len(pod) <= len(request.PodPrefix) || !strings.HasPrefix(pod, request.PodPrefix) {
		return ""
	}
	return pod
}

// value is the number of a pod that must have exactly one series.
func (a Answer) value(pod string) Value { return single(a.pods[pod]) }

// single is the number of the only sample. Several are several claims to be the pod's.
func single(samples []*model.Sample) Value {
	switch len(samples) {
	case 0:
		return Value{}
	case 1:
		return number(samples[0])
	default:
		return Value{State: Ambiguous}
	}
}

// number reads a sample. All that is measured counts something, so a negative number is as good as none; a native histogram is no
// number at all, though its Value field reads as 0.
func number(sample *model.Sample) Value {
	n := float64(sample.Value)
	if sample.Histogram != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < -roundingSlack {
		return Value{State: NotFinite}
	}
	return Value{Number: max(n, 0), State: Present}
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
