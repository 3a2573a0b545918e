package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// printTable tells a person what came out, and what is missed.
func printTable(out io.Writer, r result) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tVALUE\t95 %\tN\tBOUND\t")
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%s\t%.4g\t%s\t%d\t%s\t%s\n", f.Name, f.Value, intervalText(f.Interval), f.N, boundText(f), standing(f))
	}
	w.Flush()
	for _, f := range r.Figures {
		if len(f.Groups) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s: %s\n", f.Name, f.What)
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		for _, g := range f.Groups {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\tof %d\t%s\t%s\n", g.Layout, spreadText(g.PodSpread), g.Case, shareText(g), g.N, notStartedText(g.NotStarted),
				reasonsText(g.Reasons))
		}
		w.Flush()
	}
}

// shareText is empty where a group only counts.
func shareText(g group) string {
	if g.Interval == [2]float64{} {
		return ""
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", g.Share, g.Interval[0], g.Interval[1])
}

func intervalText(interval *[2]float64) string {
	if interval == nil {
		return ""
	}
	return fmt.Sprintf("%.3f to %.3f", interval[0], interval[1])
}

func boundText(f figure) string {
	switch {
	case f.AtMost != nil:
		return fmt.Sprintf("<= %g", *f.AtMost)
	case f.AtLeast != nil:
		return fmt.Sprintf(">= %g", *f.AtLeast)
	}
	return ""
}

func standing(f figure) string {
	switch {
	case f.AtMost == nil && f.AtLeast == nil:
		return ""
	case f.Passed:
		return "PASS"
	}
	return "MISS"
}

func spreadText(spread *float64) string {
	if spread == nil {
		return ""
	}
	return fmt.Sprintf("SD %.3g%%", 100**spread)
}

func notStartedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d not started", n)
}

func reasonsText(reasons map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, reasons[reason]))
	}
	return strings.Join(parts, ", ")
}
