package api_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// field is one field of the CRD's schema, at a path such as spec.slos[].name.
type field struct {
	path     string
	schema   apiextensionsv1.JSONSchemaProps
	required bool
}

// fields lists every field of a policy's spec and status, parents first.
func fields(t *testing.T) []field {
	t.Helper()
	return fieldsIn(t, crdFile)
}

func fieldsIn(t *testing.T, crdFile string) []field {
	t.Helper()
	content, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &definition); err != nil {
		t.Fatal(err)
	}
	root := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	var all []field
	for _, half := range []string{"spec", "status"} {
		all = walk(all, field{path: half, schema: root.Properties[half], required: half == "spec"})
	}
	return all
}

func walk(all []field, at field) []field {
	all = append(all, at)
	if at.schema.Items != nil {
		all = walk(all, field{path: at.path + "[]", schema: *at.schema.Items.Schema})
	}
	for _, name := range slices.Sorted(maps.Keys(at.schema.Properties)) {
		all = walk(all, field{
			path:     at.path + "." + name,
			schema:   at.schema.Properties[name],
			required: slices.Contains(at.schema.Required, name),
		})
	}
	return all
}
