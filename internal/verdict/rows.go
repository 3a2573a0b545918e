package verdict

import (
	"maps"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// rows counts, for each check, the looks in a row at which it was bad.
type rows map[string]int32

func (r rows) note(check v1alpha1.Check, inARow int32) v1alpha1.Check {
	r[check.Name] = max(r[check.Name], inARow)
	return check
}

// counted gives the rows in order of their names, those that have ended left out.
func (r rows) counted() []v1alpha1.BadWindows {
	var out []v1alpha1.BadWindows
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if r[name] > 0 {
			out = append(out, v1alpha1.BadWindows{Check: name, Count: r[name]})
		}
	}
	return out[:min(len(out), maxChecks)]
}

func (r rows) objective(slo SLO, in Input) v1alpha1.Check {
	if !slo.Query {
		return sloCheck(slo, in)
	}
	return r.note(queryCheck(slo, in))
}

// guards gives one check for each signal: of several thresholds for slow requests the one that says the worst.
func (r rows) guards(looks []look) []v1alpha1.Check {
	var checks []v1alpha1.Check
	for _, one := range looks {
		inARow := one.badLooksInARow()
		check := r.note(one.check(inARow), inARow)
		if last := len(checks) - 1; last >= 0 && checks[last].Name == check.Name {
			if weight(check) > weight(checks[last]) {
				checks[last] = check
			}
			continue
		}
		checks = append(checks, check)
	}
	return checks
}
