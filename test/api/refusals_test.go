package api_test

import (
	"testing"
)

// transitions are the rules that compare a policy with what it was; TestTargetIsImmutable has them.
var transitions = map[string]bool{immutableTarget: true}

// TestRefusals sends every field what each of its patterns and rules lets through and stops. A pattern or rule without values fails.
func TestRefusals(t *testing.T) {
	fixtures := fullPolicies(t)
	stored := fixtures[0].DeepCopy()
	create(t, stored)
	for _, field := range fields(t) {
		for reason, values := range reasons(t, field) {
			fixture, path, _ := home(fixtures, field.path)
			for _, value := range values.accepted {
				t.Run(field.path+"/accepted/"+show(value), func(t *testing.T) {
					if err := try(t, fixture, stored, path, value); err != nil {
						t.Error(err)
					}
				})
			}
			for _, value := range values.refused {
				t.Run(field.path+"/refused/"+show(value), func(t *testing.T) {
					refuses(t, try(t, fixture, stored, path, value), path, reason)
				})
			}
		}
	}
}

// reasons has, for every pattern and rule of a field, the message that it refuses with, and the values to try.
func reasons(t *testing.T, field field) map[string]values {
	t.Helper()
	found := map[string]values{}
	if pattern := field.schema.Pattern; pattern != "" {
		found["should match '"+pattern+"'"] = patterns[pattern]
		if len(patterns[pattern].accepted) == 0 || len(patterns[pattern].refused) == 0 {
			t.Errorf("%s: no values for the pattern %s", field.path, pattern)
		}
	}
	for _, rule := range field.schema.XValidations {
		if transitions[rule.Message] {
			continue
		}
		found[rule.Message] = rules[rule.Message]
		if len(rules[rule.Message].accepted) == 0 || len(rules[rule.Message].refused) == 0 {
			t.Errorf("%s: no values for the rule %q", field.path, rule.Message)
		}
	}
	return found
}
