package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
)

const (
	manual    = repository + "/docs/spec/v1alpha1/runtimetuningpolicies.md"
	namesFile = repository + "/api/v1alpha1/names.go"
)

func readManual(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestManualReasons: the manual's lists of reasons and events are those of the code, no more and no less.
func TestManualReasons(t *testing.T) {
	lists := []struct {
		heading, comment string   // where the list is in the manual, and in the code
		also             []string // reasons of another list that this one has too
	}{
		{"### Reasons of Ready", "Reasons of Ready", nil},
		{"### Reasons of trials and verdicts", "Reasons for which a trial ends", []string{v1alpha1.ReasonSuspended, v1alpha1.ReasonRecommended, v1alpha1.ReasonFleetStopped, v1alpha1.ReasonWaitingForStableReplicas}},
		{"### Events", "Event reasons", nil},
	}
	text := readManual(t)
	for _, list := range lists {
		t.Run(list.heading, func(t *testing.T) {
			want := append(constants(t, list.comment), list.also...)
			got := firstCells(t, text, list.heading)
			if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("reasons (-in the code +in the manual):\n%s", diff)
			}
		})
	}
}

// TestManualBlame: the manual says of each reason whether a reverted candidate is proposed again.
func TestManualBlame(t *testing.T) {
	candidate := settings.Settings{GOGC: 50}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .* \\| (yes|no) \\|$").FindAllStringSubmatch(readManual(t), -1)
	if len(rows) == 0 {
		t.Fatal("the manual has no reasons with yes or no")
	}
	for _, row := range rows {
		reason, held := row[1], row[2] == "yes"
		if reason == v1alpha1.ReasonPromoted || reason == v1alpha1.ReasonPassed {
			continue // no trial reverts with these
		}
		proposal := tuning.Propose(tuning.Input{
			Baseline: settings.Settings{GOGC: 25},
			Strategy: tuning.Strategy{Type: v1alpha1.StrategyManual, Manual: []settings.Settings{candidate}},
			History:  []v1alpha1.TrialRecord{{Candidate: candidate.API(), Result: v1alpha1.TrialReverted, Reason: reason}},
		})
		if got := proposal.Candidate == nil; got != held {
			t.Errorf("%s: held against the candidate %t, the manual says %t", reason, got, held)
		}
	}
}

// constants lists the values of the block of constants whose comment starts with the given words.
func constants(t *testing.T, comment string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), namesFile, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || !strings.HasPrefix(block.Doc.Text(), comment) {
			continue
		}
		for _, spec := range block.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, text)
			}
		}
	}
	if len(values) == 0 {
		t.Fatalf("%s has no constants under a comment that starts with %q", namesFile, comment)
	}
	return values
}

var firstCell = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// firstCells lists the code names in the first column of a section's table.
func firstCells(t *testing.T, text, heading string) []string {
	t.Helper()
	_, section, found := strings.Cut(text, heading+"\n")
	if !found {
		t.Fatalf("the manual has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n##")
	var cells []string
	for _, match := range firstCell.FindAllStringSubmatch(section, -1) {
		cells = append(cells, match[1])
	}
	return cells
}

// TestManualLinks: what the manual points to within itself is there. An anchor is the heading in lower case with hyphens, as GitHub makes it.
func TestManualLinks(t *testing.T) {
	text := readManual(t)
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile("(?m)^#+ (.+)$").FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors[strings.ReplaceAll(words, " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1)
	if len(links) == 0 {
		t.Fatal("the manual has no links within itself")
	}
	for _, link := range links {
		if !anchors[link[1]] {
			t.Errorf("the manual links to #%s, which no heading has", link[1])
		}
	}
}

// TestManualPresets: the manual's table has the presets of the schema, in the order in which Auto looks for them.
func TestManualPresets(t *testing.T) {
	var want []string
	for _, field := range fields(t) {
		if field.path != "spec.metrics.latency.preset" {
			continue
		}
		for _, value := range field.schema.Enum {
			if name := strings.Trim(string(value.Raw), `"`); name != string(v1alpha1.LatencyAuto) {
				want = append(want, name)
			}
		}
	}
	if diff := cmp.Diff(want, firstCells(t, readManual(t), "#### Request presets")); diff != "" {
		t.Errorf("presets (-in the schema +in the manual):\n%s", diff)
	}
}

// TestManualFields: every field of the spec that holds a value has a row, with the default that the schema gives it.
func TestManualFields(t *testing.T) {
	text := readManual(t)
	for _, field := range fields(t) {
		path, inSpec := strings.CutPrefix(field.path, "spec.")
		if !inSpec || strings.HasSuffix(path, "[]") || len(field.schema.Properties) > 0 {
			continue // a group of fields may go without a row of its own
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(path) + "` \\| ([^|]+) \\|.*$").FindStringSubmatch(text)
		want := defaultCell(t, field)
		switch {
		case row == nil:
			t.Errorf("the manual has no row for %s", path)
		case want != "" && row[1] != want:
			t.Errorf("%s: the manual gives the default as %s, want %s", path, row[1], want)
		}
	}
}

// defaultCell is what the column of defaults must say of a field; empty where that is for a person to word.
func defaultCell(t *testing.T, field field) string {
	t.Helper()
	if field.required {
		return "required"
	}
	if field.schema.Default == nil {
		return ""
	}
	var value any
	if err := json.Unmarshal(field.schema.Default.Raw, &value); err != nil {
		t.Fatal(err)
	}
	switch value := value.(type) {
	case string:
		return "`" + value + "`"
	case float64:
		return "`" + strconv.FormatFloat(value, 'f', -1, 64) + "`"
	default:
		return ""
	}
}

// TestManualExamples submits every YAML example: whole policies as they are, a spec in the place of the smallest policy's, a status on it.
func TestManualExamples(t *testing.T) {
	stored := readObject(t, repository+"/config/samples/smallest.yaml")
	stored.SetName("of-the-manual")
	create(t, stored)
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(readManual(t), -1)
	if len(examples) == 0 {
		t.Fatal("the manual has no examples")
	}
	for index, example := range examples {
		t.Run(strconv.Itoa(index), func(t *testing.T) {
			var part map[string]any
			if err := yaml.UnmarshalStrict([]byte(example[1]), &part); err != nil {
				t.Fatalf("%v:\n%s", err, example[1])
			}
			if err := submitExample(t, stored, part); err != nil {
				t.Errorf("%v:\n%s", err, example[1])
			}
		})
	}
}

func submitExample(t *testing.T, stored *unstructured.Unstructured, part map[string]any) error {
	t.Helper()
	if _, whole := part["kind"]; whole {
		return strictDryRun(t.Context(), &unstructured.Unstructured{Object: part})
	}
	submitted := stored.DeepCopy()
	if status, ok := part["status"]; ok {
		submitted.Object["status"] = status
		return client.WithFieldValidation(cluster, "Strict").Status().Update(t.Context(), submitted, client.DryRunAll)
	}
	spec, ok := part["spec"].(map[string]any)
	if !ok {
		t.Fatal("the example has neither a kind nor a spec nor a status")
	}
	for name, value := range spec {
		submitted.Object["spec"].(map[string]any)[name] = value
	}
	return client.WithFieldValidation(cluster, "Strict").Update(t.Context(), submitted, client.DryRunAll)
}
