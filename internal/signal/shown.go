package signal

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// maxShown bounds a query for people: it stands in a status.
const maxShown = 512

// shown are PromQL expressions that show by pod what the signals measure, for people who want to look themselves. They extrapolate, as
// PromQL does, so that their numbers differ a little from those that are judged. What would get longer than maxShown is left out.
func (r Request) shown(p preset, histogram string, pods map[string][]view, length time.Duration) map[v1alpha1.SignalName]string {
	w := writer{
		request: r, preset: p, histogram: histogram, window: model.Duration(length).String(),
		native: !anyPod(pods, func(v view) bool { return v.buckets(p, histogram).state != Absent }) &&
			anyPod(pods, func(v view) bool { return v.hasHistogram(p, histogram) }),
	}
	for _, label := range slices.Backward(p.codeLabels) {
		if w.codeLabel == "" || anyPod(pods, func(v view) bool { return v.hasCode(p, label) }) {
			w.codeLabel = label
		}
	}
	queries := map[v1alpha1.SignalName]string{
		v1alpha1.SignalMemory: w.selector(metricResident),
		v1alpha1.SignalStartupTime: fmt.Sprintf("kube_pod_status_ready_time{%[1]s} - on (namespace, pod) kube_pod_created{%[1]s}",
			w.podMatchers()),
	}
	if histogram != "" {
		w.addRequests(queries)
	}
	for name, query := range queries {
		if len(query) > maxShown {
			delete(queries, name)
		}
	}
	return queries
}

type writer struct {
	request   Request
	preset    preset
	histogram string
	native    bool
	codeLabel string
	window    string
}

func (w writer) podMatchers() string {
	return fmt.Sprintf("%s=%s,%s=~%s", labelNamespace, strconv.Quote(w.request.Namespace),
		labelPod, strconv.Quote(regexp.QuoteMeta(w.request.PodPrefix)+".+"))
}

// selector may have more matchers. What a sidecar counts is not the tuned container's.
func (w writer) selector(metric string, matchers ...string) string {
	all := append([]string{w.podMatchers()}, matchers...)
	if w.request.Container != "" && (w.preset.sidecar == "" || !strings.HasPrefix(metric, "istio_")) {
		all = append(all, fmt.Sprintf("%s=~%s", labelContainer, strconv.Quote("|"+regexp.QuoteMeta(w.request.Container))))
	}
	return metric + "{" + strings.Join(all, ",") + "}"
}

func (w writer) rate(metric string, matchers ...string) string {
	return w.by("", fmt.Sprintf("rate(%s[%s])", w.selector(metric, matchers...), w.window))
}

func (w writer) by(label, of string) string { return fmt.Sprintf("sum by (pod%s) (%s)", label, of) }

func (w writer) addRequests(queries map[v1alpha1.SignalName]string) {
	var reporter []string
	if w.preset.reporter != "" {
		reporter = []string{labelReporter + "=" + strconv.Quote(w.preset.reporter)}
	}
	count := w.rate(w.histogram+suffixCount, reporter...)
	taken := w.rate(w.histogram+suffixSum, reporter...)
	buckets := w.by(", le", fmt.Sprintf("rate(%s[%s])", w.selector(w.histogram+suffixBucket, reporter...), w.window))
	if w.native {
		rate := fmt.Sprintf("rate(%s[%s])", w.selector(w.histogram, reporter...), w.window)
		count, taken, buckets = "histogram_count("+w.by("", rate)+")", "histogram_sum("+w.by("", rate)+")", w.by("", rate)
	}
	inSeconds := ""
	if w.preset.secondsPerUnit == milliseconds {
		inSeconds = " / 1000"
	}
	queries[v1alpha1.SignalRequestLatency] = taken + " / " + count + inSeconds
	queries[v1alpha1.SignalTailLatency] = "histogram_quantile(0.95, " + buckets + ")" + inSeconds
	queries[v1alpha1.SignalSlowRequests] = "1 - " + buckets + " / on (pod) group_left () " + count
	if w.native {
		delete(queries, v1alpha1.SignalSlowRequests)
	}
	queries[v1alpha1.SignalCPUPerRequest] = w.rate(metricCPU) + " / " + count
	queries[v1alpha1.SignalGCCPUPerRequest] = fmt.Sprintf("(%s - %s) / %s", w.rate(metricGCCPU), w.rate(metricGCIdleCPU), count)
	queries[v1alpha1.SignalErrors] = w.errors(reporter)
}

func (w writer) errors(reporter []string) string {
	counter := w.preset.counter
	switch {
	case counter != "":
	case w.native:
		counter = w.histogram
	default:
		counter = w.histogram + suffixCount
	}
	failed := `"5.."`
	if w.preset.status("UNAVAILABLE") == statusFailed {
		failed = `"(?i:unknown|deadline_?exceeded|unimplemented|internal|unavailable|data_?loss|2|4|12|13|14|15)"`
	}
	bad := w.rate(counter, append([]string{w.codeLabel + "=~" + failed}, reporter...)...)
	all := w.rate(counter, reporter...)
	if w.native && w.preset.counter == "" {
		bad, all = "histogram_count("+bad+")", "histogram_count("+all+")"
	}
	return bad + " / " + all
}
