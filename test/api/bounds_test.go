package api_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bound is one limit of a field: a value that just keeps it, where the field's other rules allow one, and one that just breaks it.
type bound struct {
	name            string
	keeps, breaks   any
	wantField, want string
}

// TestBounds breaks every enum, bound and requirement of the schema, each at a policy that is otherwise good. The cases are made from
// the schema, so that no new field goes without.
func TestBounds(t *testing.T) {
	fixtures := fullPolicies(t)
	stored := fixtures[0].DeepCopy()
	create(t, stored)
	for _, field := range fields(t) {
		fixture, path, value := home(fixtures, field.path)
		if fixture == nil {
			t.Errorf("%s: in no fixture; add it to testdata/full.yaml", field.path)
			continue
		}
		for _, bound := range bounds(field, path, value) {
			t.Run(field.path+"/"+bound.name, func(t *testing.T) {
				if bound.keeps != nil {
					accepts(t, try(t, fixture, stored, path, bound.keeps), path)
				}
				refuses(t, try(t, fixture, stored, path, bound.breaks), bound.wantField, bound.want)
			})
		}
	}
}

// fullPolicies are the fixtures that together have every field.
func fullPolicies(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return []*unstructured.Unstructured{
		readObject(t, "testdata/full.yaml"), readObject(t, "testdata/full-sweep.yaml"), readObject(t, "testdata/full-feedback.yaml"),
	}
}

// home finds the fixture that has a field.
func home(fixtures []*unstructured.Unstructured, path string) (*unstructured.Unstructured, string, any) {
	for _, fixture := range fixtures {
		if found, value, ok := locate(fixture.Object, path); ok {
			return fixture, found, value
		}
	}
	return nil, "", nil
}

// try submits a fixture with one field changed, as a dry run: a policy, or the status of the stored one.
func try(t *testing.T, fixture, stored *unstructured.Unstructured, path string, value any) error {
	t.Helper()
	changed := fixture.DeepCopy()
	assign(t, changed.Object, path, value)
	if !strings.HasPrefix(path, "status") {
		changed.SetName(fixture.GetName() + "-try")
		return cluster.Create(t.Context(), changed, client.DryRunAll)
	}
	submitted := stored.DeepCopy()
	submitted.Object["status"] = changed.Object["status"]
	return cluster.Status().Update(t.Context(), submitted, client.DryRunAll)
}

// accepts asserts that the API server has nothing against a field; a rule about two fields may name their parent.
func accepts(t *testing.T, err error, field string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if status.Status().Details == nil {
		t.Fatal(err)
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == field {
			t.Errorf("%s is refused: %s", field, cause.Message)
		}
	}
}

// refuses asserts that the API server refuses a field for a reason.
func refuses(t *testing.T, err error, field, message string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Fatalf("error %v, want one that refuses %s with %q", err, field, message)
	}
	var causes []string
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Field == field && strings.Contains(cause.Message, message) {
				return
			}
			causes = append(causes, cause.Field+": "+cause.Message)
		}
	}
	t.Errorf("refused for\n%s\nwant %s with %q", strings.Join(causes, "\n"), field, message)
}

func bounds(field field, path string, value any) []bound {
	all := lengthBounds(field, path)
	all = append(all, countBounds(field, path, value)...)
	schema := field.schema
	if field.required && path != "spec" {
		all = append(all, bound{"required", nil, absent{}, path, "Required value"})
	}
	if len(schema.Enum) > 0 {
		all = append(all, bound{"enum", nil, "Nonsense", path, "Unsupported value"})
	}
	if schema.Minimum != nil {
		lowest := int64(*schema.Minimum)
		all = append(all, bound{"minimum", lowest, lowest - 1, path, fmt.Sprintf("should be greater than or equal to %d", lowest)})
	}
	if schema.Maximum != nil {
		highest := int64(*schema.Maximum)
		all = append(all, bound{"maximum", highest, highest + 1, path, fmt.Sprintf("should be less than or equal to %d", highest)})
	}
	return all
}

// lengthBounds has a value that keeps the bound only where no pattern or rule has a say in it; refusals_test.go has the others.
func lengthBounds(field field, path string) []bound {
	schema := field.schema
	free := schema.Pattern == "" && len(schema.XValidations) == 0 && len(schema.Enum) == 0
	text := func(length int64, keep bool) any {
		if keep && !free {
			return nil
		}
		return strings.Repeat("1", int(length))
	}
	var all []bound
	if schema.MaxLength != nil {
		longest := *schema.MaxLength
		all = append(all, bound{"maxLength", text(longest, true), text(longest+1, false), path, fmt.Sprintf("may not be more than %d bytes", longest)})
	}
	if schema.MinLength != nil {
		shortest := *schema.MinLength
		all = append(all, bound{"minLength", text(shortest, true), text(shortest-1, false), path, fmt.Sprintf("should be at least %d chars long", shortest)})
	}
	return all
}

func countBounds(field field, path string, value any) []bound {
	schema := field.schema
	var all []bound
	if schema.MaxItems != nil {
		most := *schema.MaxItems
		all = append(all, bound{"maxItems", repeated(field, value, most), repeated(field, value, most+1), path, fmt.Sprintf("must have at most %d items", most)})
	}
	if schema.MinItems != nil {
		all = append(all, bound{"minItems", repeated(field, value, *schema.MinItems), []any{}, path, fmt.Sprintf("should have at least %d items", *schema.MinItems)})
	}
	return all
}

// repeated makes a list of the first item's copies, each with a key of its own where the list has keys, and of different numbers where it
// holds numbers.
func repeated(field field, value any, count int64) []any {
	items := make([]any, count)
	for index := range items {
		fields, isObject := value.([]any)[0].(map[string]any)
		if !isObject {
			items[index] = int64(10 + index)
			continue
		}
		item := runtime.DeepCopyJSON(fields)
		for _, key := range field.schema.XListMapKeys {
			if field.schema.Items.Schema.Properties[key].Type == "integer" {
				item[key] = int64(10 + index)
			} else {
				item[key] = fmt.Sprintf("s%07d", index)
			}
		}
		items[index] = item
	}
	return items
}
