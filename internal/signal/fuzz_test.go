package signal

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// FuzzAssemble feeds every query the same arbitrary answer. Whatever it is, what comes out as usable must be usable.
func FuzzAssemble(f *testing.F) {
	const at = `1790000000`
	for _, body := range []string{
		`{"resultType":"vector","result":[]}`,
		`{"resultType":"vector","result":null}`,
		`{"resultType":"vector","result":[null]}`,
		`{"resultType":"vector","result":[{"metric":{"pod":"checkout-7d9c-a","code":"500","le":"+Inf"},"value":[` + at + `,"12"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"pod":"checkout-7d9c-a","le":"1"},"value":[` + at + `,"12"]},` +
			`{"metric":{"pod":"checkout-7d9c-a","le":"+Inf"},"value":[` + at + `,"NaN"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"__name__":"go_gc_gogc_percent","pod":"checkout-7d9c-a"},"value":[` + at + `,"-Inf"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"pod":"checkout-7d9c-a"},"value":[` + at + `,"1790000000"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"pod":"checkout-7d9c-a"},"histogram":[` + at + `,{"count":"1","sum":"2","buckets":[]}]}]}`,
		`{"resultType":"vector","result":[{"metric":{"pod":"checkout-7d9c-a"}}]}`,
		`{"resultType":"scalar","result":[` + at + `,"1"]}`,
		`{"resultType":"string","result":[` + at + `,"1"]}`,
		`{"resultType":"matrix","result":[{"metric":{},"values":[[` + at + `,"1"]]}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request := exampleRequest()
		queries, err := Queries(request)
		if err != nil {
			t.Fatal(err)
		}
		value := decode(body)
		var answers []Answer
		for _, query := range queries {
			if answer, err := ReadAnswer(request, query, value); err == nil {
				answers = append(answers, answer)
			}
		}
		window := Assemble(request, 15*time.Second, answers...)
		for name, pod := range window.Pods {
			checkPod(t, name, pod, window)
		}
		Missing(request, window, []string{"checkout-7d9c-a"})
	})
}

// decode reads the data of an answer as the client does; nil where it is none.
func decode(body []byte) model.Value {
	var data struct {
		Type   model.ValueType `json:"resultType"`
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(body, &data) != nil {
		return nil
	}
	read := func(into model.Value) model.Value {
		if json.Unmarshal(data.Result, into) != nil {
			return nil
		}
		return into
	}
	switch data.Type {
	case model.ValVector:
		var vector model.Vector
		if json.Unmarshal(data.Result, &vector) != nil {
			return nil
		}
		return vector
	case model.ValScalar:
		return read(&model.Scalar{})
	case model.ValString:
		return read(&model.String{})
	default:
		return nil
	}
}

func checkPod(t *testing.T, name string, pod Pod, window Window) {
	t.Helper()
	fields := reflect.ValueOf(pod)
	for i := range fields.NumField() {
		value, ok := fields.Field(i).Interface().(Value)
		if !ok {
			continue
		}
		if value.OK() && (math.IsNaN(value.Number) || math.IsInf(value.Number, 0) || value.Number < 0) || !value.OK() && value.Number != 0 {
			t.Errorf("pod %s: %s is %v", name, fields.Type().Field(i).Name, value)
		}
	}
	if pod.FailedRequests.OK() && (!pod.Requests.OK() || pod.FailedRequests.Number > pod.Requests.Number) {
		t.Errorf("pod %s: %v of %v requests failed", name, pod.FailedRequests, pod.Requests)
	}
	if pod.Sampled != (pod.Coverage > 0) || pod.Coverage > 1 || pod.SampleAge < 0 || pod.SampleAge > window.Length {
		t.Errorf("pod %s: sampled %t, age %s, coverage %g", name, pod.Sampled, pod.SampleAge, pod.Coverage)
	}
	checkLatency(t, name, pod)
}

func checkLatency(t *testing.T, name string, pod Pod) {
	t.Helper()
	if (pod.LatencyState == Present) != (len(pod.Latency) > 0) {
		t.Errorf("pod %s: %d buckets in state %q", name, len(pod.Latency), pod.LatencyState)
	}
	for i, bucket := range pod.Latency {
		if math.IsNaN(bucket.Count) || math.IsInf(bucket.Count, 0) || bucket.Count < 0 {
			t.Errorf("pod %s: bucket %v", name, bucket)
		}
		if i > 0 && (bucket.UpperBoundSeconds <= pod.Latency[i-1].UpperBoundSeconds || bucket.Count < pod.Latency[i-1].Count) {
			t.Errorf("pod %s: bucket %v after %v", name, bucket, pod.Latency[i-1])
		}
		if last := i == len(pod.Latency)-1; last != math.IsInf(bucket.UpperBoundSeconds, 1) {
			t.Errorf("pod %s: bucket %v at %d of %d", name, bucket, i+1, len(pod.Latency))
		}
	}
}
