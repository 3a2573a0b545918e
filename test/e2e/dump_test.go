//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gopacer/gopacer/test/stage"
)

// dump shows a person what there is to see.
func (s *scene) dump(ctx context.Context) {
	s.t.Log(s.kube.Explain(ctx, s.namespace))
	for _, arguments := range [][]string{
		{"get", "runtimetuningpolicies", "--namespace", s.namespace, "--output", "yaml"},
		{"get", "events.events.k8s.io", "--namespace", s.namespace, "--field-selector", "regarding.kind=RuntimeTuningPolicy",
			"--output", "custom-columns=AT:.metadata.creationTimestamp,REASON:.reason,NOTE:.note"},
		{"get", "pods", "--namespace", stage.OperatorNamespace, "--output", "wide"},
	} {
		output, err := s.kube.Run(ctx, "", arguments...)
		if err != nil {
			output += err.Error()
		}
		s.t.Logf("kubectl %s\n%s", strings.Join(arguments, " "), output)
	}
	s.t.Logf("the manager's log of %s, and its errors\n%s", s.namespace, s.operatorLog(ctx))
}

// shownLogLines is how much of the manager's log a failure shows.
const shownLogLines = 60

// operatorLog is the part of the manager's log that speaks of the scene, with the errors.
func (s *scene) operatorLog(ctx context.Context) string {
	output, err := s.kube.Run(ctx, "", "logs", "--namespace", stage.OperatorNamespace, "deployment/"+stage.OperatorDeployment, "--tail", "2000")
	if err != nil {
		return err.Error()
	}
	var shown []string
	for line := range strings.Lines(output) {
		var entry struct{ Level, TS, Msg, Namespace, Pod, Error string }
		if json.Unmarshal([]byte(line), &entry) == nil && (entry.Namespace == s.namespace || entry.Level == "error") {
			shown = append(shown, strings.Join([]string{entry.TS, entry.Level, entry.Msg, entry.Pod, entry.Error}, " "))
		}
	}
	return strings.Join(shown[max(0, len(shown)-shownLogLines):], "\n")
}
