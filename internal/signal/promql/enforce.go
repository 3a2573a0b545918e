// Package promql holds a policy's own PromQL to the policy's namespace. It is a package of its own because Prometheus' parser brings a
// client along, which the rooms that only look at measurements do without.
package promql

import (
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const labelNamespace = "namespace"

// Experimental functions stay off. Among them is info(), which reads series that no selector in the query names.
var parse = parser.NewParser(parser.Options{})

// EnforceNamespace gives the query with a matcher namespace="<namespace>" on every selector, so that it can read no other namespace's
// series. It refuses what does not parse, does not answer with an instant vector, selects nothing, or asks for another namespace. The
// error is meant for the author of the query.
func EnforceNamespace(promQL, namespace string) (string, error) {
	if namespace == "" {
		return "", errors.New("the namespace is empty: a query must be held to one namespace")
	}
	expression, err := parse.ParseExpr(promQL)
	if err != nil {
		return "", fmt.Errorf("it is not PromQL: %w", err)
	}
	if got := expression.Type(); got != parser.ValueTypeVector {
		return "", fmt.Errorf("it answers with a %s: write a query that answers with an instant vector, one sample for each pod, such as "+
			"sum by (pod) (rate(my_total[1m]))", parser.DocumentedType(got))
	}
	selectors := 0
	err = walk(expression, func(selector *parser.VectorSelector) error {
		selectors++
		return hold(selector, namespace)
	})
	if err != nil {
		return "", err
	}
	if selectors == 0 {
		return "", errors.New("it selects no series, so that it can say nothing of a pod")
	}
	held := expression.String()
	if err := check(held, namespace); err != nil {
		return "", fmt.Errorf("it can't be held to the namespace %s: %w", namespace, err)
	}
	return held, nil
}

// hold puts the matcher in the place of those that are there.
func hold(selector *parser.VectorSelector, namespace string) error {
	wanted, err := labels.NewMatcher(labels.MatchEqual, labelNamespace, namespace)
	if err != nil {
		return err
	}
	var matchers []*labels.Matcher
	for _, matcher := range selector.LabelMatchers {
		switch {
		case matcher.Name != labelNamespace:
			matchers = append(matchers, matcher)
		case !matcher.Matches(namespace):
			return fmt.Errorf("the selector %s asks for another namespace than the policy's, %s: leave that matcher out", selector, namespace)
		}
	}
	selector.LabelMatchers = append(matchers, wanted)
	return nil
}

// check reads what will be sent once more, since it was printed from a tree and not written by the author.
func check(held, namespace string) error {
	expression, err := parse.ParseExpr(held)
	if err != nil {
		return err
	}
	return walk(expression, func(selector *parser.VectorSelector) error {
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name == labelNamespace && matcher.Type == labels.MatchEqual && matcher.Value == namespace {
				return nil
			}
		}
		return fmt.Errorf("the selector %s lost its matcher", selector)
	})
}

// walk visits every selector: those of ranges and subqueries, and in the parameters of aggregations too.
func walk(expression parser.Expr, visit func(*parser.VectorSelector) error) error {
	var failed error
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok && failed == nil {
			failed = visit(selector)
		}
		return failed
	})
	return failed
}
