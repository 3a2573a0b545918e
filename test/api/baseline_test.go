package api_test

import (
	"os"
	"strings"
	"testing"
)

const (
	baselineCRD    = repository + "/config/crd/bases/tuning.gopacer.dev_runtimebaselines.yaml"
	baselineManual = repository + "/docs/spec/v1alpha1/runtimebaselines.md"
)

// TestBaselineManual: the manual of RuntimeBaselines has a row for each field of the spec, and for each part of the record.
func TestBaselineManual(t *testing.T) {
	text, err := os.ReadFile(baselineManual)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, match := range firstCell.FindAllStringSubmatch(string(text), -1) {
		rows[match[1]] = true
	}
	for _, field := range fieldsIn(t, baselineCRD) {
		depth := strings.Count(field.path, ".")
		if depth == 0 || strings.Contains(field.path, "[]") || strings.HasPrefix(field.path, "status.") && depth > 1 {
			continue
		}
		if !rows[field.path] {
			t.Errorf("the manual has no row for %s", field.path)
		}
		delete(rows, field.path)
	}
	for path := range rows {
		t.Errorf("the manual has a row for %s, which is no field", path)
	}
}

// TestBaselineBounds: no list and no text in it is without a bound, so that what is stored fits in etcd.
func TestBaselineBounds(t *testing.T) {
	for _, field := range fieldsIn(t, baselineCRD) {
		switch schema := field.schema; {
		case schema.Type == "array" && schema.MaxItems == nil:
			t.Errorf("%s: a list without a bound", field.path)
		case schema.Type == "string" && schema.MaxLength == nil && len(schema.Enum) == 0 && schema.Format == "" && !strings.HasSuffix(field.path, "UID"):
			t.Errorf("%s: a text without a bound", field.path)
		}
	}
}
