package api_test

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// values are what a rule or a pattern lets through and what it stops, at every field that has it.
type values struct{ accepted, refused []any }

// patterns has the values of every pattern in the schema.
var patterns = map[string]values{
	// Durations in whole units.
	`^([0-9]+(ms|s|m|h))+$`: {
		accepted: list("30s", "1m30s", "30000ms", "0h0m30s", "0000000000000000000000000000030s"),
		refused:  list("30", "-30s", "1.5m", "30 s", "1d", "30S", "s", "", "30s\n"),
	},
	// Lengths of maintenance windows.
	`^([0-9]+(h|m|s))+$`: {
		accepted: list("6h", "1h30m", "90m", "6h0m0s"),
		refused:  list("6", "-6h", "1.5h", "6 h", "1d", "900000ms", ""),
	},
	// Times of day.
	`^([01][0-9]|2[0-3]):[0-5][0-9]$`: {
		accepted: list("00:00", "22:00", "23:59", "09:30"),
		refused:  list("24:00", "22:60", "9:30", "2200", "22-00", "10pm", ""),
	},
	// Names of the IANA time zone database.
	`^[A-Za-z0-9+_-]+(/[A-Za-z0-9+_-]+)*$`: {
		accepted: list("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "Etc/GMT-14"),
		refused:  list("../etc/passwd", "/UTC", "Europe/", "Europe//Berlin", "Europe Berlin"),
	},
	// Short durations in whole units.
	`^([0-9]+(ms|s))+$`: {
		accepted: list("5ms", "1s", "1000ms", "0s5ms"),
		refused:  list("5", "-5ms", "1m", "500us", "0.5ms", "5 ms", ""),
	},
	// Durations that may have a fraction.
	`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`: {
		accepted: list("250ms", "1.5s", "0.25s", "1m0.5s"),
		refused:  list("250", "-1s", "1.s", ".5s", "250us", "∞", ""),
	},
	// Percentages with up to four decimals.
	`^(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%$`: {
		accepted: list("90%", "50.5%", "89.9999%", "90.0%"),
		refused:  list("90", "101%", "100.1%", "-1%", "1.00001%", "1e1%", "50 %", "5%%", ".5%", "NaN%", "1.5.5%"),
	},
	// Shares of replicas, where a whole number without % is a count.
	`^(100|[1-9][0-9]?)%$`: {
		accepted: list("1%", "50%", "100%"),
		refused:  list("0%", "101%", "010%", "2.5%", "abc", "5", "-5%", ""),
	},
	// Decimal numbers.
	`^-?[0-9]{1,12}(\.[0-9]{1,6})?$`: {
		accepted: list("250", "0.5", "-1", "999999999999.999999"),
		refused:  list("", "1e3", "+1", ".5", "1.", "NaN", "1 000", "5%"),
	},
	// GOGC where it is no number.
	`^off$`: {
		accepted: list("off", int64(150)),
		refused:  list("150", "Off", "", "100%"),
	},
	// Names that are a DNS label.
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`: {
		accepted: list("a", "0", "team-a", "a--b"),
		refused:  list("A", "-a", "a-", "a.b", "a_b", "a/b", "http://prometheus:9090"),
	},
	// Names that are DNS labels joined by dots.
	`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`: {
		accepted: list("checkout", "checkout.v2", "0"),
		refused:  list("Checkout", "-a", "a.", "a_b", "a/b"),
	},
	// API versions of kinds.
	`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$`: {
		accepted: list("apps/v1", "apps.example.com/v1beta1"),
		refused:  list("apps/v1/x", "apps", "apps/1", "Apps/v1", "/v1", "apps/v1gamma1"),
	},
	// Kinds.
	`^[A-Z][A-Za-z0-9]*$`: {
		accepted: list("Deployment", "StatefulSet"),
		refused:  list("deployment", "deployments.apps", "Deployment/scale"),
	},
	// Metric names.
	`^[a-zA-Z_:][a-zA-Z0-9_:]*$`: {
		accepted: list("rpc_duration_seconds", "job:latency:seconds", "_x"),
		refused:  list("1x", "rpc-duration", `x{namespace="other"}`, "x y", "é"),
	},
	// Label names.
	`^[a-zA-Z_][a-zA-Z0-9_]*$`: {
		accepted: list("code", "_status", "http_response_status_code"),
		refused:  list("1x", "a:b", "a-b", `code="200"}`),
	},
	// Quantities.
	`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`: {
		accepted: list("512Mi", "536870912", int64(536870912), "0.5Gi", "5e8", "500M", "1.5Gi"),
		refused:  list("512MiB", "512 Mi", "lots", "off", ""),
	},
	// metav1.Condition's type and reason.
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`: {
		accepted: list("Ready", "tuning.gopacer.dev/Ready"),
		refused:  list("Ready!", "-Ready"),
	},
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`: {
		accepted: list("TrialRunning"),
		refused:  list("Trial running", "1Trial"),
	},
}

// rules has the values of every validation rule in the schema, by the rule's message.
var rules = map[string]values{
	"nothing takes the place of a Pod of its own, and Jobs and CronJobs end: name a workload that keeps its pods running": {
		accepted: targets("apps/v1 Deployment", "example.com/v1 Fleet"),
		refused:  targets("v1 Pod", "batch/v1 Job", "batch/v1 CronJob"),
	},
	"Deployment, StatefulSet, DaemonSet and ReplicaSet are of apiVersion apps/v1, and any other kind of an API group with a dot, such as argoproj.io/v1alpha1": {
		accepted: targets("apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 DaemonSet", "apps/v1 ReplicaSet", "apps.kruise.io/v1beta1 StatefulSet"),
		refused:  targets("v1 Deployment", "apps/v1beta1 Deployment", "apps/v1 Rollout", "v1 ReplicationController"),
	},
	"of Argo's kinds only Rollout of argoproj.io/v1alpha1 keeps pods running": {
		accepted: targets("argoproj.io/v1alpha1 Rollout"),
		refused:  targets("argoproj.io/v1alpha1 Workflow", "argoproj.io/v1 Rollout"),
	},
	"threshold must be above 0s": {
		accepted: list("1ms", "0.5s"),
		refused:  list("0s", "0ms", "0h0m0.0s"),
	},
	"target must be below 100%: no finite number of requests proves that none is ever slow": {
		accepted: list("99.9999%", "50%"),
		refused:  list("100%", "100.0%"),
	},
	"target must be above 0%": {
		accepted: list("0.0001%"),
		refused:  list("0%", "0.00%", "00%"),
	},
	"set exactly one of latency, errors and query": {
		accepted: objects(`{"name": "x", "errors": {"max": "0%"}}`, `{"name": "x", "latency": {"threshold": "1s", "target": "99%"}}`,
			`{"name": "x", "query": {"promQL": "up", "max": "1"}}`),
		refused: objects(`{"name": "x"}`, `{"name": "x", "errors": {"max": "1%"}, "latency": {"threshold": "1s", "target": "99%"}}`,
			`{"name": "x", "errors": {"max": "1%"}, "query": {"promQL": "up", "max": "1"}}`,
			`{"name": "x", "errors": {"max": "1%"}, "latency": {"threshold": "1s", "target": "99%"}, "query": {"promQL": "up", "max": "1"}}`),
	},
	"min must not be above max": {
		accepted: objects(`{}`, `{"min": 100, "max": 100}`, `{"min": 200}`, `{"max": 25}`),
		refused:  objects(`{"min": 101, "max": 100}`),
	},
	"percentOfLimit must lie between 50% and 95%: below, the collector starves; above, nothing is left for what the runtime does not count": {
		accepted: list("50%", "95%", "95.0%"),
		refused:  list("49.9999%", "95.0001%", "100%", "0%"),
	},
	"a candidate sets at least one of gogc, gomemlimit, gomaxprocs and godebug": {
		accepted: objects(`{"gogc": 100}`, `{"gomemlimit": "1Gi"}`, `{"gomaxprocs": 2}`, `{"godebug": [{"name": "disablethp", "value": "1"}]}`,
			`{"gogc": "off", "gomemlimit": "1Gi"}`),
		refused: objects(`{}`),
	},
	`a candidate's gogc is a whole number from 1 to 100000 without quotes, or "off" with them`: {
		accepted: objects(`{"gogc": 1}`, `{"gogc": 100000}`, `{"gogc": "off"}`),
		refused:  objects(`{"gogc": 0}`, `{"gogc": -5}`, `{"gogc": 100001}`, `{"gogc": "150"}`, `{"gogc": ""}`),
	},
	"a candidate's gomaxprocs must not exceed 1024": {
		accepted: objects(`{"gomaxprocs": 1024}`),
		refused:  objects(`{"gomaxprocs": 1025}`),
	},
	"the value is the runtime's default already: madvdontneed is 1 since Go 1.16, asyncpreemptoff and disablethp are 0": {
		accepted: objects(`{"godebug": [{"name": "madvdontneed", "value": "0"}]}`,
			`{"godebug": [{"name": "asyncpreemptoff", "value": "1"}, {"name": "disablethp", "value": "1"}]}`),
		refused: objects(`{"godebug": [{"name": "madvdontneed", "value": "1"}]}`, `{"godebug": [{"name": "asyncpreemptoff", "value": "0"}]}`,
			`{"godebug": [{"name": "disablethp", "value": "0"}]}`,
			`{"godebug": [{"name": "madvdontneed", "value": "0"}, {"name": "disablethp", "value": "0"}]}`),
	},
	"approved holds the settings of status.recommendation, and sets at least one of gogc, gomemlimit, gomaxprocs and godebug": {
		accepted: objects(`{"gogc": 100}`, `{"gomemlimit": "1Gi"}`, `{"gomaxprocs": 2}`, `{"godebug": [{"name": "madvdontneed", "value": "1"}]}`),
		refused:  objects(`{}`),
	},
	`gogc is a whole number from 1 to 2147483647 without quotes, or "off" with them`: {
		accepted: objects(`{"gogc": 1}`, `{"gogc": 2147483647}`, `{"gogc": "off"}`),
		refused:  objects(`{"gogc": 0}`, `{"gogc": 2147483648}`, `{"gogc": "150"}`, `{"gogc": "Off"}`),
	},
	"gomemlimit must be above 0": {
		accepted: objects(`{"gomemlimit": "1"}`, `{"gomemlimit": 1}`, `{"gomemlimit": "0.5Gi"}`),
		refused:  objects(`{"gomemlimit": "0"}`, `{"gomemlimit": 0}`, `{"gomemlimit": "-1Gi"}`, `{"gomemlimit": "0Mi"}`),
	},
	"a candidate's gomemlimit must be above 1Mi": {
		accepted: objects(`{"gomemlimit": 1048577}`, `{"gomemlimit": "2Mi"}`),
		refused:  objects(`{"gomemlimit": "1Mi"}`, `{"gomemlimit": "1k"}`, `{"gomemlimit": 512}`),
	},
	"set manual if, and only if, type is Manual": {
		accepted: objects(`{}`, `{"type": "Feedback"}`, `{"type": "Manual", "manual": {"candidates": [{"gogc": 100}]}}`),
		refused:  objects(`{"type": "Manual"}`, `{"type": "Feedback", "manual": {"candidates": [{"gogc": 100}]}}`, `{"manual": {"candidates": [{"gogc": 100}]}}`),
	},
	"feedback goes with type Feedback": {
		accepted: objects(`{"feedback": {}}`, `{"type": "Feedback", "feedback": {"longPause": "10ms"}}`, `{"type": "Sweep"}`),
		refused: objects(`{"type": "Sweep", "feedback": {}}`, `{"type": "Calibrate", "feedback": {"quotaUse": "70%"}}`,
			`{"type": "Manual", "manual": {"candidates": [{"gogc": 100}]}, "feedback": {}}`),
	},
	"sweep goes with type Sweep": {
		accepted: objects(`{"type": "Sweep"}`, `{"type": "Sweep", "sweep": {}}`, `{"type": "Calibrate"}`),
		refused:  objects(`{"sweep": {}}`, `{"type": "Feedback", "sweep": {}}`, `{"type": "Calibrate", "sweep": {"ladder": [50, 100]}}`),
	},
	"longPause must lie above 0s and not above 1s": {
		accepted: list("1ms", "1s"),
		refused:  list("0ms", "1001ms"),
	},
	"a candidate's gogc must keep knobs.gogc.min and max; off is above any max": {
		accepted: specs(`"knobs": {"gogc": {"min": 50, "max": 400}}, "strategy": {"type": "Manual", "manual": {"candidates": [{"gogc": 50}, {"gogc": 400}, {"gomaxprocs": 2}]}}`,
			`"knobs": {"gogc": {"min": 50}}, "strategy": {"type": "Manual", "manual": {"candidates": [{"gogc": "off"}, {"gogc": 1000}]}}`,
			`"knobs": {}, "strategy": {"type": "Manual", "manual": {"candidates": [{"gogc": 8}, {"gogc": "off"}, {"gogc": 1000}]}}`),
		refused: specs(`"knobs": {"gogc": {"min": 50, "max": 400}}, "strategy": {"type": "Manual", "manual": {"candidates": [{"gogc": 100}, {"gogc": 49}]}}`,
			`"knobs": {"gogc": {"max": 400}}, "strategy": {"type": "Manual", "manual": {"candidates": [{"gogc": 401}]}}`,
			`"knobs": {"gogc": {"max": 400}}, "strategy": {"type": "Manual", "manual": {"candidates": [{"gogc": "off"}]}}`),
	},
	"the rungs of a ladder must keep knobs.gogc.min and max; left out, the ladder is 25, 50, 100, 150, 200": {
		accepted: specs(`"knobs": {"gogc": {"min": 50, "max": 400}}, "strategy": {"type": "Sweep", "sweep": {"ladder": [400, 50]}}`,
			`"knobs": {"gogc": {"min": 50, "max": 400}}, "strategy": {"type": "Sweep"}`,
			`"knobs": {}, "strategy": {"type": "Sweep", "sweep": {"ladder": [5, 1000]}}`),
		refused: specs(`"knobs": {"gogc": {"min": 50}}, "strategy": {"type": "Sweep", "sweep": {"ladder": [49, 100]}}`,
			`"knobs": {"gogc": {"max": 400}}, "strategy": {"type": "Sweep", "sweep": {"ladder": [100, 401]}}`,
			`"knobs": {"gogc": {"min": 50}}, "strategy": {"type": "Sweep", "sweep": {}}`),
	},
	"knobs.gogc: left out, min is 25 and max is 200 with Feedback; give both where one lies beyond the other": {
		accepted: specs(`"knobs": {"gogc": {"min": 200}}`,
			`"knobs": {"gogc": {"max": 25}}`,
			`"knobs": {"gogc": {"min": 201, "max": 400}}`,
			`"knobs": {"gogc": {"min": 201}}, "strategy": {"type": "Sweep"}`),
		refused: specs(`"knobs": {"gogc": {"min": 201}}`,
			`"knobs": {"gogc": {"max": 24}}, "strategy": {"type": "Feedback"}`),
	},
	"set either steps or preset": {
		accepted: objects(`{}`, `{"preset": "Standard"}`, `{"preset": "Gradual", "maxUnavailable": 2, "replacement": "Evict"}`, `{"steps": [{"canary": 1}]}`),
		refused:  objects(`{"preset": "Standard", "steps": [{"canary": 1}]}`),
	},
	"for must lie between 5s and 10m": {
		accepted: list("5s", "10m"),
		refused:  list("4999ms", "0s", "601s"),
	},
	"errors must be above 0%": {
		accepted: list("0.0001%", "100%"),
		refused:  list("0%", "0.00%"),
	},
	"noDataTimeout must not be shorter than interval": {
		accepted: objects(`{"interval": "1m", "noDataTimeout": "60s"}`, `{"interval": "10m"}`, `{"noDataTimeout": "30s"}`),
		refused:  objects(`{"interval": "1m", "noDataTimeout": "59s"}`, `{"noDataTimeout": "29s"}`),
	},
	"interval must lie between 5s and 10m": {
		accepted: list("5s", "5m"),
		refused:  list("4999ms", "0s", "601s", "1h"),
	},
	"warmUp must not exceed 24h": {
		accepted: list("0s", "24h"),
		refused:  list("24h1ms", "25h"),
	},
	"noDataTimeout must not exceed 24h": {
		accepted: list("24h"),
		refused:  list("24h1ms", "1441m"),
	},
	"canary is a count from 1 to 500, or a percentage from 1% to 100%": {
		accepted: list(int64(1), int64(500), "10%"),
		refused:  list(int64(0), int64(-1), int64(501)),
	},
	"hold must lie between 5s and 168h": {
		accepted: list("5s", "168h"),
		refused:  list("4s", "168h1s"),
	},
	"maxUnavailable is a count from 1 to 10000, or a percentage from 1% to 100%": {
		accepted: list(int64(1), int64(10000), "25%"),
		refused:  list(int64(0), int64(-1), int64(10001)),
	},
	"cooldown must not exceed 720h": {
		accepted: list("0s", "720h"),
		refused:  list("720h1s"),
	},
	"duration must lie between 15m and 24h": {
		accepted: list("15m", "24h"),
		refused:  list("14m59s", "24h1s"),
	},
	"timeZone Local is that of the manager's machine: name one, such as Europe/Berlin": {
		accepted: list("UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+1"),
		refused:  list("Local"),
	},
	"set exactly one of preset and histogram": {
		accepted: objects(`{"preset": "PrometheusHTTP"}`, `{"histogram": "x_seconds"}`),
		refused:  objects(`{}`, `{"preset": "PrometheusHTTP", "histogram": "x_seconds"}`),
	},
	"codeLabel goes with histogram; a preset brings its own": {
		accepted: objects(`{"histogram": "x_seconds", "codeLabel": "code"}`),
		refused:  objects(`{"preset": "PrometheusHTTP", "codeLabel": "code"}`),
	},
}

func list(values ...any) []any { return values }

// objects parses values of fields that are objects.
func objects(texts ...string) []any {
	parsed := make([]any, len(texts))
	for index, text := range texts {
		wrapped := &unstructured.Unstructured{}
		if err := wrapped.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "Wrapped", "value": ` + text + `}`)); err != nil {
			panic(err)
		}
		parsed[index] = wrapped.Object["value"]
	}
	return parsed
}

// targets makes references of their apiVersion and kind.
func targets(texts ...string) []any {
	references := make([]any, len(texts))
	for index, text := range texts {
		apiVersion, kind, _ := strings.Cut(text, " ")
		references[index] = map[string]any{"apiVersion": apiVersion, "kind": kind, "name": "checkout"}
	}
	return references
}

// specs makes whole specs of some of their fields.
func specs(fields ...string) []any {
	texts := make([]string, len(fields))
	for index, text := range fields {
		texts[index] = `{"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout"}, ` + text + `}`
	}
	return objects(texts...)
}

func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
