package signal

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// FuzzAssemble feeds every query of two snapshots the same two arbitrary answers. Whatever they are, what comes out as usable must be usable.
func FuzzAssemble(f *testing.F) {
	const at = `1790000000`
	const labels = `"namespace":"shop","pod":"checkout-7d9c-a","job":"j","instance":"i"`
	bodies := []string{
		`{"resultType":"vector","result":[]}`,
		`{"resultType":"vector","result":null}`,
		`{"resultType":"vector","result":[null]}`,
		`{"resultType":"vector","result":[{"metric":{"__name__":"http_request_duration_seconds_count",` + labels + `,"code":"500"},"value":[` + at + `,"12"]},` +
			`{"metric":{"__name__":"process_start_time_seconds",` + labels + `},"value":[` + at + `,"1780000000"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"__name__":"http_request_duration_seconds_bucket",` + labels + `,"le":"1"},"value":[` + at + `,"12"]},` +
			`{"metric":{"__name__":"http_request_duration_seconds_bucket",` + labels + `,"le":"+Inf"},"value":[` + at + `,"NaN"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"__name__":"go_gc_gogc_percent",` + labels + `},"value":[` + at + `,"-Inf"]}]}`,
		`{"resultType":"vector","result":[{"metric":{` + labels + `},"value":[` + at + `,"1790000000"]}]}`,
		`{"resultType":"vector","result":[{"metric":{"__name__":"http_request_duration_seconds",` + labels + `},"histogram":[` + at +
			`,{"count":"1","sum":"2","buckets":[[0,"0.5","1","1"]]}]}]}`,
		`{"resultType":"vector","result":[{"metric":{` + labels + `}}]}`,
		`{"resultType":"scalar","result":[` + at + `,"1"]}`,
		`{"resultType":"string","result":[` + at + `,"1"]}`,
		`{"resultType":"matrix","result":[{"metric":{},"values":[[` + at + `,"1"]]}]}`,
	}
	for i, body := range bodies {
		f.Add([]byte(bodies[(i+len(bodies)-1)%len(bodies)]), []byte(body))
		f.Add([]byte(body), []byte(body))
	}
	f.Fuzz(func(t *testing.T, earlier, later []byte) {
		request := exampleRequest()
		scope := Scope{Namespaces: []string{"shop"}, Histograms: []Latency{request.Latency}}
		var moments []Moment
		for i, body := range [][]byte{earlier, later} {
			at := exampleEnd.Add(time.Duration(i-1) * 30 * time.Second)
			reader, value := scope.NewReader(at), decode(body)
			for _, query := range scope.Queries() {
				if reader.Read(query, value) != nil {
					break
				}
			}
			moments = append(moments, Moment{At: at, Part: reader.Parts()["shop"]})
		}
		window := Assemble(request, 15*time.Second, moments, nil)
		for name, pod := range window.Pods {
			checkPod(t, name, pod, window)
		}
		Missing(request, window, []string{"checkout-7d9c-a"})
		if _, err := ReadAnswer(request, "own", exampleEnd, decode(later)); err != nil && decode(later) == nil {
			return
		}
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
	if (!pod.Sampled && pod.Coverage != 0) || pod.Coverage > 1 || pod.Coverage < 0 || pod.SampleAge < 0 || pod.SampleAge > window.Length {
		t.Errorf("pod %s: sampled %t, age %s, coverage %g", name, pod.Sampled, pod.SampleAge, pod.Coverage)
	}
	checkBuckets(t, name, pod.Latency, pod.LatencyState)
	checkBuckets(t, name, pod.Pauses, pod.PausesState)
	checkBuckets(t, name, pod.SchedulerLatency, pod.SchedulerLatencyState)
}

func checkBuckets(t *testing.T, name string, buckets []Bucket, state State) {
	t.Helper()
	if (state == Present) != (len(buckets) > 0) {
		t.Errorf("pod %s: %d buckets in state %q", name, len(buckets), state)
	}
	for i, bucket := range buckets {
		if math.IsNaN(bucket.Count) || math.IsInf(bucket.Count, 0) || bucket.Count < 0 {
			t.Errorf("pod %s: bucket %v", name, bucket)
		}
		if i > 0 && (bucket.UpperBoundSeconds <= buckets[i-1].UpperBoundSeconds || bucket.Count < buckets[i-1].Count) {
			t.Errorf("pod %s: bucket %v after %v", name, bucket, buckets[i-1])
		}
		if last := i == len(buckets)-1; last != math.IsInf(bucket.UpperBoundSeconds, 1) {
			t.Errorf("pod %s: bucket %v at %d of %d", name, bucket, i+1, len(buckets))
		}
	}
}
