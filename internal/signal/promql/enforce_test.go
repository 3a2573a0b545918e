package promql

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func TestEnforceNamespace(t *testing.T) {
	for promQL, want := range map[string]string{
		`up`:                            `up{namespace="shop"}`,
		`up{}`:                          `up{namespace="shop"}`,
		`{job="a"}`:                     `{job="a",namespace="shop"}`,
		`up{namespace="shop"}`:          `up{namespace="shop"}`,
		`up{namespace=~"shop|bank"}`:    `up{namespace="shop"}`,
		`up{namespace!="bank",job="a"}`: `up{job="a",namespace="shop"}`,
		`up{"namespace"=~".+"}`:         `up{namespace="shop"}`,
		`up offset 5m`:                  `up{namespace="shop"} offset 5m`,
		`up @ 1790000000`:               `up{namespace="shop"} @ 1790000000.000`,
		`up @ end()`:                    `up{namespace="shop"} @ end()`,
		`sum by (pod) (rate(a[1m])) / on (pod) sum by (pod) (rate(b[1m]))`: `sum by (pod) (rate(a{namespace="shop"}[1m])) / on (pod) ` +
			`sum by (pod) (rate(b{namespace="shop"}[1m]))`,
		`max_over_time(rate(a[1m])[5m:30s])`:                             `max_over_time(rate(a{namespace="shop"}[1m])[5m:30s])`,
		`topk(scalar(limit), a)`:                                         `topk(scalar(limit{namespace="shop"}), a{namespace="shop"})`,
		`a and b unless c or d`:                                          `a{namespace="shop"} and b{namespace="shop"} unless c{namespace="shop"} or d{namespace="shop"}`,
		`histogram_quantile(0.9, sum by (pod, le) (rate(a_bucket[1m])))`: `histogram_quantile(0.9, sum by (pod, le) (rate(a_bucket{namespace="shop"}[1m])))`,
		`label_replace(a, "namespace", "bank", "", "")`:                  `label_replace(a{namespace="shop"}, "namespace", "bank", "", "")`,
		`absent(a)`:  `absent(a{namespace="shop"})`,
		`-a`:         `-a{namespace="shop"}`,
		`a > bool 1`: `a{namespace="shop"} > bool 1`,
	} {
		t.Run(promQL, func(t *testing.T) {
			got, err := EnforceNamespace(promQL, "shop")
			if err != nil || got != want {
				t.Errorf("got  %s\nwant %s\nerror %v", got, want, err)
			}
		})
	}
}

func TestEnforceNamespaceRefuses(t *testing.T) {
	for promQL, word := range map[string]string{
		``:                                    "not PromQL",
		`up{`:                                 "not PromQL",
		`up{}}`:                               "not PromQL",
		`up{namespace="bank"}`:                "another namespace",
		`up{namespace!="shop"}`:               "another namespace",
		`up{namespace=""}`:                    "another namespace",
		`a / on (pod) b{namespace=~"bank.*"}`: "another namespace",
		`rate(a{namespace="bank"}[5m:])`:      "another namespace",
		`up[5m]`:                              "range vector",
		`1`:                                   "scalar",
		`"text"`:                              "string",
		`vector(1)`:                           "selects no series",
		`info(a)`:                             "not PromQL",
		`info(a, {namespace="bank"})`:         "not PromQL",
	} {
		t.Run(promQL, func(t *testing.T) {
			got, err := EnforceNamespace(promQL, "shop")
			if err == nil {
				t.Fatalf("accepted as %s", got)
			}
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error %q does not name %q", err, word)
			}
		})
	}
	if got, err := EnforceNamespace("up", ""); err == nil {
		t.Errorf("accepted an empty namespace: %s", got)
	}
}

// FuzzEnforceNamespace holds that whatever parses is either refused, or admits series of one namespace only, in every selector.
func FuzzEnforceNamespace(f *testing.F) {
	for _, promQL := range []string{`up`, `{__name__=~".+"}`, `sum(rate(a{namespace=~".*"}[5m:1m] offset -1w)) by (pod) @ start()`,
		`a + on() group_left(namespace) b`, `quantile_over_time(scalar(x), y[1h])`, "{`namespace`=\"bank\"}", `{"a.b"}`, `count_values("namespace", up)`,
		`a[5m] @ 3`, `info(a)`, `up{namespace="a\"b"}`, `limitk(2, x)`, `a smoothed`, `rate(a[5m] anchored)`, `a offset (5m+step())`} {
		f.Add(promQL, "shop")
	}
	f.Add("up", "a\"} or up{x=\"\n\\")
	f.Fuzz(func(t *testing.T, promQL, namespace string) {
		held, err := EnforceNamespace(promQL, namespace)
		if err != nil {
			return
		}
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(held)
		if err != nil {
			t.Fatalf("%q became %q: %v", promQL, held, err)
		}
		selectors := parser.ExtractSelectors(expression)
		if len(selectors) == 0 {
			t.Errorf("%q became %q, which selects nothing", promQL, held)
		}
		for _, selector := range selectors {
			for _, value := range []string{"", "bank", namespace + "x"} {
				if admits(selector, value) {
					t.Errorf("%q became %q, which admits namespace %q", promQL, held, value)
				}
			}
		}
	})
}

func admits(selector []*labels.Matcher, namespace string) bool {
	for _, matcher := range selector {
		if matcher.Name == labelNamespace && !matcher.Matches(namespace) {
			return false
		}
	}
	return true
}
