package signal

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"
)

// minLength is the shortest window that can be asked for: scrapes come at the second.
const minLength = time.Second

// Validate says why a request can't be asked, and is what keeps a name from becoming PromQL of its own: metric and label names are
// written into the query as they are, all else is quoted.
func (r Request) Validate() error {
	for field, value := range map[string]string{"namespace": r.Namespace, "pod prefix": r.PodPrefix, "container": r.Container} {
		if !utf8.ValidString(value) {
			return fmt.Errorf("the %s %q is not UTF-8", field, value)
		}
	}
	switch {
	case r.Namespace == "":
		return errors.New("the namespace is empty: a query must be held to one namespace")
	case r.PodPrefix == "":
		return errors.New("the pod prefix is empty: a query must be held to one target's pods")
	case r.Length < minLength:
		return fmt.Errorf("the window of %s is shorter than %s: ask for at least four scrape intervals", r.Length, minLength)
	case r.End.IsZero():
		return errors.New("the end of the window is not set")
	}
	seen := make(map[string]bool, len(r.Queries))
	for _, query := range r.Queries {
		if seen[query.Name] {
			return fmt.Errorf("two queries have the name %q: which of them is meant?", query.Name)
		}
		seen[query.Name] = true
	}
	return r.Latency.validate()
}

func (l Latency) validate() error {
	if l.Histogram == "" {
		if len(l.candidates()) == 0 {
			return fmt.Errorf("%q is no preset of a latency histogram", l.Preset)
		}
		return nil
	}
	if !model.LegacyValidation.IsValidMetricName(l.Histogram) {
		return fmt.Errorf("histogram %q is not the name of a metric: letters, digits, _ and : only", l.Histogram)
	}
	if !model.LegacyValidation.IsValidLabelName(l.CodeLabel) {
		return fmt.Errorf("status label %q of histogram %q is not the name of a label: letters, digits and _ only", l.CodeLabel, l.Histogram)
	}
	return nil
}
