package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// managesGODEBUG says whether a key of GODEBUG is managed. Of each of these the runtime asks only whether it is 0 (runtime/preempt.go,
// runtime/mem_linux.go). All others belong to whoever wrote the pod template.
func managesGODEBUG(name string) bool {
	return name == "asyncpreemptoff" || name == "disablethp" || name == "madvdontneed"
}

// ParseGODEBUG reads the managed keys out of a value of GODEBUG, and renders them sorted, each with 0 or 1: disablethp=1,madvdontneed=0. It is
// empty where there are none. Of a key that is given twice the later counts, as to the runtime (runtime/runtime1.go, parsegodebug, and
// internal/godebug, parse). Where the runtime would silently ignore a managed key, it is an error.
func ParseGODEBUG(text string) (string, error) {
	values := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(field, "=")
		if !ok || !managesGODEBUG(name) {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return "", fmt.Errorf("GODEBUG=%q: want 0 or 1 as the value of %s; the runtime ignores this", text, name)
		}
		values[name] = "1"
		if n == 0 {
			values[name] = "0"
		}
	}
	return renderGODEBUG(values), nil
}

func renderGODEBUG(values map[string]string) string {
	var fields []string
	for name, value := range values {
		fields = append(fields, name+"="+value)
	}
	slices.Sort(fields)
	return strings.Join(fields, ",")
}

// MergeGODEBUG gives a value of GODEBUG the managed keys that are wanted, in the form of ParseGODEBUG, and no other managed ones. All else in it,
// also what means nothing to the runtime, stays as it is and in its order; a managed key that is there keeps its place, a new one goes to the end.
func MergeGODEBUG(text, wanted string) string {
	values := managedValues(wanted)
	var fields []string
	for _, field := range splitGODEBUG(text) {
		name, _, ok := strings.Cut(field, "=")
		if !ok || !managesGODEBUG(name) {
			fields = append(fields, field)
			continue
		}
		if value, pending := values[name]; pending {
			fields = append(fields, name+"="+value)
			delete(values, name)
		}
	}
	if added := renderGODEBUG(values); added != "" {
		fields = append(fields, added)
	}
	return strings.Join(fields, ",")
}

// overlayGODEBUG takes both in the form of ParseGODEBUG.
func overlayGODEBUG(base, over string) string {
	values := managedValues(base)
	for name, value := range managedValues(over) {
		values[name] = value
	}
	return renderGODEBUG(values)
}

// managedValues reads what renderGODEBUG writes.
func managedValues(rendered string) map[string]string {
	values := map[string]string{}
	for _, field := range splitGODEBUG(rendered) {
		name, value, _ := strings.Cut(field, "=")
		values[name] = value
	}
	return values
}

// splitGODEBUG has no fields where there is no text.
func splitGODEBUG(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func godebugFromAPI(in []v1alpha1.GODEBUGSetting) (string, error) {
	values := map[string]string{}
	for _, setting := range in {
		name := string(setting.Name)
		switch _, twice := values[name]; {
		case !managesGODEBUG(name):
			return "", fmt.Errorf("godebug %q: not a managed key of GODEBUG", name)
		case twice:
			return "", fmt.Errorf("godebug %q: given twice: remove one", name)
		case setting.Value != "0" && setting.Value != "1":
			return "", fmt.Errorf("godebug %q: value %q: want 0 or 1", name, setting.Value)
		}
		values[name] = setting.Value
	}
	return renderGODEBUG(values), nil
}

func godebugAPI(rendered string) []v1alpha1.GODEBUGSetting {
	var out []v1alpha1.GODEBUGSetting
	for _, field := range splitGODEBUG(rendered) {
		name, value, _ := strings.Cut(field, "=")
		out = append(out, v1alpha1.GODEBUGSetting{Name: v1alpha1.GODEBUGName(name), Value: value})
	}
	return out
}
