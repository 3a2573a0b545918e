package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBundleOf(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"create":         {arguments: []string{"--root", "/r", "create", "--bundle", "/b", "id"}, want: "/b"},
		"joined":         {arguments: []string{"create", "--bundle=/b", "id"}, want: "/b"},
		"short":          {arguments: []string{"run", "-b", "/b", "id"}, want: "/b"},
		"another":        {arguments: []string{"state", "id"}},
		"an exec":        {arguments: []string{"exec", "--process", "/p", "id"}},
		"without bundle": {arguments: []string{"create", "--bundle"}},
	} {
		got, found := bundleOf(test.arguments)
		if got != test.want || found != (test.want != "") {
			t.Errorf("%s: bundleOf() = %q, %v, want %q", name, got, found, test.want)
		}
	}
}

func TestRemoveFilterTouchesNothingElse(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"with a filter": {
			before: `{"linux":{"resources":{"memory":{"limit":9007199254740993}},"seccomp":{"defaultAction":"SCMP_ACT_ERRNO"}},"ociVersion":"1.3.0"}`,
			after:  `{"linux":{"resources":{"memory":{"limit":9007199254740993}}},"ociVersion":"1.3.0"}`,
		},
		"without one":   {before: `{ "linux": {} }`, after: `{ "linux": {} }`},
		"without linux": {before: `{}`, after: `{}`},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := removeFilter(path); err != nil {
			t.Errorf("%s: removeFilter() = %v", name, err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if difference := cmp.Diff(test.after, string(got)); difference != "" {
			t.Errorf("%s (-want +got):\n%s", name, difference)
		}
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeFilter(path); err == nil {
		t.Error("removeFilter() of a broken file has no error")
	}
}
