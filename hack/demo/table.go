package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// table is the end of the demonstration, for people.
func (r *result) table(latency objective) string {
	var text strings.Builder
	control, canary := r.Promotion.Control, r.Promotion.Canary
	columns := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintf(columns, "\tcontrol pods\tcanary pods\t\n")
	fmt.Fprintf(columns, "settings\t%s\t%s\t\n", control.Settings, canary.Settings)
	for _, asked := range questions {
		was, is := control.value(asked.name), canary.value(asked.name)
		changed, title := change(was, is), asked.name
		if asked.kind == count {
			changed = fmt.Sprintf("over the same %s, to %d and %d pods", canary.Window, len(control.Pods), len(canary.Pods))
		}
		if asked.kind == share {
			title += ", over " + latency.threshold
			changed += ", allowed " + written(share, latency.allowed)
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", title, written(asked.kind, was), written(asked.kind, is), changed)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	record := r.Revert.Trial
	fmt.Fprintf(&text, "\npromoted   %s\n", canary.Settings)
	fmt.Fprintf(&text, "because    %s\n", r.Promotion.Trial.Message)
	fmt.Fprintf(&text, "\nreverted   %s\n", settingsText(record.Candidate))
	fmt.Fprintf(&text, "because    %s: %s\n", record.Reason, record.Message)
	fmt.Fprintf(&text, "pods       %d of %d ever ran it\n", len(r.Revert.Witness.Pods), len(control.Pods)+len(canary.Pods))
	fmt.Fprintf(&text, "took       %.1f s from the first breaching sample, by a poll of Prometheus every %s, to the last canary pod gone\n", r.Revert.Seconds, pollInterval)
	if warming := r.Revert.warmUpShare().Round(time.Second); warming > 0 {
		fmt.Fprintf(&text, "           (the warm-up, in which crashes count but latency does not, was %s of that)\n", warming)
	}
	return text.String()
}

// written writes a figure for people.
func written(as kind, value float64) string {
	switch as {
	case perRequest:
		return fmt.Sprintf("%.2f ms", 1000*value)
	case share:
		return fmt.Sprintf("%.1f %%", 100*value)
	case bytes:
		return fmt.Sprintf("%.0f MiB", value/(1<<20))
	default:
		return fmt.Sprintf("%.0f", value)
	}
}

// change is relative to what was.
func change(was, is float64) string {
	if !(was > 0) || math.IsNaN(is) {
		return ""
	}
	return fmt.Sprintf("%+.0f %%", 100*(is/was-1))
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
