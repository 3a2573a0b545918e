package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var allGiven = map[string]string{
	kubeconfigVariable: "mine", imageVariable: "a", workloadImageVariable: "b", loadImageVariable: "c",
	prometheusVariable: "http://in", prometheusURLVariable: "http://out",
}

func choose(environment map[string]string) (choices, error) {
	return readChoices(func(name string) (string, bool) { value, found := environment[name]; return value, found })
}

func TestChoices(t *testing.T) {
	// Neither is a plain KUBECONFIG.
	own, err := choose(map[string]string{"KUBECONFIG": "mine", keepVariable: "1"})
	if err != nil || own.given != nil || !own.keep {
		t.Errorf("%+v, %v", own, err)
	}
	given, err := choose(allGiven)
	if err != nil || given.given == nil || given.given.kubeconfig != "mine" || given.given.names.load != "c" || given.given.scrapeInterval != 15*time.Second || given.keep {
		t.Errorf("%+v, %v", given, err)
	}
}

func TestChoicesNameWhatIsMissing(t *testing.T) {
	for _, name := range []string{imageVariable, workloadImageVariable, loadImageVariable, prometheusVariable, prometheusURLVariable, kubeconfigVariable} {
		less := maps.Clone(allGiven)
		delete(less, name)
		if _, err := choose(less); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for _, interval := range []string{"15", "-1s", "0s", "soon"} {
		bad := maps.Clone(allGiven)
		bad[scrapeIntervalVariable] = interval
		if _, err := choose(bad); err == nil {
			t.Errorf("%s=%s is taken", scrapeIntervalVariable, interval)
		}
	}
}

func TestAgrees(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Y\n": true, " yes\n": true, "": false, "\n": false, "n\n": false, "yeah\n": false, "no\n": false} {
		if got := agrees(answer); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
}

func TestDescribeCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts:\n- name: here\n  context: {cluster: there}\nclusters:\n- name: there\n  cluster: {server: 'https://there:6443'}\n")
	text, err := describeCluster(file)
	if err != nil || !strings.Contains(text, "here") || !strings.Contains(text, "https://there:6443") {
		t.Errorf("%s, %v", text, err)
	}
	write("apiVersion: v1\nkind: Config\n")
	if _, err := describeCluster(file); err == nil {
		t.Error("a kubeconfig without a context is taken")
	}
	if _, err := describeCluster(file + ".none"); err == nil {
		t.Error("a kubeconfig that does not exist is taken")
	}
}
