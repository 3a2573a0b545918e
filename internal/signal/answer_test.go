package signal

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
)

// sampled makes a sample of the example's pod at the example's end; labels come in pairs.
func sampled(value float64, pairs ...string) *model.Sample {
	metric := model.Metric{"pod": examplePod}
	for i := 0; i < len(pairs); i += 2 {
		metric[model.LabelName(pairs[i])] = model.LabelValue(pairs[i+1])
	}
	return &model.Sample{Metric: metric, Value: model.SampleValue(value), Timestamp: model.TimeFromUnix(exampleEnd.Unix())}
}

func TestReadAnswer(t *testing.T) {
	histogram := sampled(0)
	histogram.Histogram = &model.SampleHistogram{Count: 5}
	nameless := sampled(1)
	delete(nameless.Metric, "pod")
	for name, tc := range map[string]struct {
		vector model.Vector
		want   Answer
	}{
		"missing":           {nil, Answer{}},
		"zero":              {model.Vector{sampled(0)}, Answer{examplePod: present(0)}},
		"number":            {model.Vector{sampled(3, "namespace", "shop")}, Answer{examplePod: present(3)}},
		"negative":          {model.Vector{sampled(-3)}, Answer{examplePod: present(-3)}},
		"NaN":               {model.Vector{sampled(math.NaN())}, Answer{examplePod: {State: NotFinite}}},
		"infinite":          {model.Vector{sampled(math.Inf(1))}, Answer{examplePod: {State: NotFinite}}},
		"histogram":         {model.Vector{histogram}, Answer{examplePod: {State: NotFinite}}},
		"twice":             {model.Vector{sampled(1, "path", "a"), sampled(1, "path", "b")}, Answer{examplePod: {State: Ambiguous}}},
		"no pod":            {model.Vector{nameless}, Answer{}},
		"another namespace": {model.Vector{sampled(1, "namespace", "bank")}, Answer{}},
		"another's pod":     {model.Vector{sampled(1, "pod", "payment-1")}, Answer{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadAnswer(exampleRequest(), "own", exampleEnd, tc.vector)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadMalformed(t *testing.T) {
	late := sampled(1)
	late.Timestamp = late.Timestamp.Add(-2 * time.Minute)
	timeless := sampled(1)
	timeless.Timestamp = 0
	hollow := sampled(1)
	hollow.Histogram = &model.SampleHistogram{Buckets: model.HistogramBuckets{nil}}
	scope := Scope{Namespaces: []string{"shop"}}
	for name, value := range map[string]model.Value{
		"nothing":      nil,
		"scalar":       &model.Scalar{Value: 1, Timestamp: sampled(1).Timestamp},
		"string":       &model.String{Value: "1", Timestamp: sampled(1).Timestamp},
		"matrix":       model.Matrix{},
		"null":         model.Vector{nil},
		"null bucket":  model.Vector{hollow},
		"another time": model.Vector{late},
		"no time":      model.Vector{timeless},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadAnswer(exampleRequest(), "own", exampleEnd, value); !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v, want %v", err, ErrMalformed)
			}
			for _, query := range scope.Queries() {
				if err := scope.NewReader(exampleEnd).Read(query, value); !errors.Is(err, ErrMalformed) {
					t.Errorf("query %s: error %v, want %v", query.Name, err, ErrMalformed)
				}
			}
		})
	}
}

// TestReadOnlyAsked holds that series of a namespace that was not asked for are nobody's.
func TestReadOnlyAsked(t *testing.T) {
	scope := Scope{Namespaces: []string{"shop"}}
	reader := scope.NewReader(exampleEnd)
	for _, query := range scope.Queries() {
		err := reader.Read(query, model.Vector{
			sampled(1, "namespace", "bank", "__name__", metricCPU), sampled(1, "__name__", metricCPU), sampled(1, "namespace", "shop", "pod", ""),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for namespace, part := range reader.Parts() {
		if len(part.pods) != 0 {
			t.Errorf("%d pods in namespace %s, want none", len(part.pods), namespace)
		}
	}
}
