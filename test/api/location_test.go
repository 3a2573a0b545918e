package api_test

import (
	"strconv"
	"strings"
	"testing"
)

// absent, as a value, takes a field away.
type absent struct{}

// segments splits a path such as spec.slos[0].name into field names and indexes. An index is an int; -1 stands for [], any item.
func segments(path string) []any {
	var parts []any
	for field := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(field, "[")
		parts = append(parts, name)
		if indexed {
			index, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
			if err != nil {
				index = -1
			}
			parts = append(parts, index)
		}
	}
	return parts
}

// locate finds where an object has a field: spec.slos[].errors becomes spec.slos[1].errors.
func locate(object any, path string) (found string, value any, ok bool) {
	return follow(object, segments(path), "")
}

func follow(at any, rest []any, path string) (string, any, bool) {
	if len(rest) == 0 {
		return path, at, true
	}
	switch step := rest[0].(type) {
	case string:
		fields, _ := at.(map[string]any)
		value, ok := fields[step]
		if !ok {
			return "", nil, false
		}
		return follow(value, rest[1:], strings.TrimPrefix(path+"."+step, "."))
	case int:
		items, _ := at.([]any)
		for index, item := range items {
			if step != -1 && step != index {
				continue
			}
			if found, value, ok := follow(item, rest[1:], path+"["+strconv.Itoa(index)+"]"); ok {
				return found, value, true
			}
		}
	}
	return "", nil, false
}

// assign writes a value at a path of an object; all but the last field must be there.
func assign(t *testing.T, object any, path string, value any) {
	t.Helper()
	parts := segments(path)
	at := object
	for _, part := range parts[:len(parts)-1] {
		at = child(t, at, part, path)
	}
	switch last := parts[len(parts)-1].(type) {
	case string:
		fields, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("%s: the parent is %T, not an object", path, at)
		}
		if _, remove := value.(absent); remove {
			delete(fields, last)
			return
		}
		fields[last] = value
	case int:
		at.([]any)[last] = value
	}
}

func child(t *testing.T, at, part any, path string) any {
	t.Helper()
	switch part := part.(type) {
	case string:
		if value, ok := at.(map[string]any)[part]; ok {
			return value
		}
	case int:
		if items := at.([]any); part < len(items) {
			return items[part]
		}
	}
	t.Fatalf("%s: %v is not there", path, part)
	return nil
}
