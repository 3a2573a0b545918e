package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxObjectBytes is what a policy must stay under: etcd takes requests of 1.5 MiB at most (--max-request-bytes).
const maxObjectBytes = 1 << 20

// TestLargestStatus stores a status that fills every list and every text of the schema: a trial on a large target must not fail because
// its evidence does not fit.
func TestLargestStatus(t *testing.T) {
	policy := readObject(t, "testdata/full.yaml")
	policy.SetName("largest")
	create(t, policy)
	fixture := readObject(t, "testdata/full.yaml")
	schema := fields(t)[slices.IndexFunc(fields(t), func(f field) bool { return f.path == "status" })]
	policy.Object["status"] = largest(schema, fixture.Object["status"])
	if err := cluster.Status().Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	var stored unstructured.Unstructured
	stored.SetGroupVersionKind(policy.GroupVersionKind())
	get(t, client.ObjectKeyFromObject(policy), &stored)
	content, err := json.Marshal(stored.Object)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{
		"status.history": 10, "status.rejected": 32, "status.sweep.rungs": 12, "status.calibration.spreads": 8,
		"status.trial.slots": 500, "status.trial.verdict.checks": 24, "status.recommendation.verdict.checks": 24,
	}
	for path, want := range counts {
		if _, items, _ := locate(stored.Object, path); len(items.([]any)) != want {
			t.Errorf("%s has %d items, want %d", path, len(items.([]any)), want)
		}
	}
	if len(content) >= maxObjectBytes {
		t.Errorf("the largest policy takes %d bytes, want less than %d", len(content), maxObjectBytes)
	}
}

// largest fills an example of a field as far as the schema allows: each list with as many items, each text with as many characters.
func largest(at field, example any) any {
	switch example := example.(type) {
	case map[string]any:
		filled := map[string]any{}
		for name, value := range example {
			filled[name] = largest(field{path: at.path + "." + name, schema: at.schema.Properties[name]}, value)
		}
		return filled
	case []any:
		return largestList(at, example)
	case string:
		free := at.schema.Pattern == "" && len(at.schema.Enum) == 0 && at.schema.MaxLength != nil
		if free && !at.schema.XIntOrString {
			return example + strings.Repeat("x", int(*at.schema.MaxLength)-len(example))
		}
	}
	return example
}

func largestList(at field, example []any) []any {
	items := at.schema.Items.Schema
	item := largest(field{schema: *items}, example[0])
	count := len(example)
	if at.schema.MaxItems != nil {
		count = int(*at.schema.MaxItems)
	}
	filled := repeated(at, []any{item}, int64(count))
	for _, key := range at.schema.XListMapKeys {
		if names := items.Properties[key].Enum; len(names) > 0 {
			name(filled, key, names)
		}
	}
	return filled
}

// name gives each item of a list one of the names that the schema knows.
func name(items []any, key string, names []apiextensionsv1.JSON) {
	for index := range min(len(items), len(names)) {
		items[index].(map[string]any)[key] = strings.Trim(string(names[index].Raw), `"`)
	}
}
