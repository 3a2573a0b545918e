package condition_test

import (
	"testing"

	"github.com/gopacer/gopacer/test/workload/condition"
)

func lookup(environment map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, found := environment[name]
		return value, found
	}
}

func TestHolds(t *testing.T) {
	for _, test := range []struct {
		text        string
		environment map[string]string
		want        bool
	}{
		{"GOGC>100", map[string]string{"GOGC": "101"}, true},
		{"GOGC>100", map[string]string{"GOGC": "100"}, false},
		{"GOGC>100", nil, false},
		{"GOGC>=100", nil, true},
		{"GOGC=100", map[string]string{"GOGC": ""}, true},
		{"GOGC=100", map[string]string{"GOGC": "abc"}, true},
		{"GOGC>100", map[string]string{"GOGC": "off"}, true},
		{"GOGC=off", map[string]string{"GOGC": "off"}, true},
		{"GOGC=off", map[string]string{"GOGC": "-1"}, true},
		{"GOGC!=off", map[string]string{"GOGC": "50"}, true},
		{"GOGC<=25", map[string]string{"GOGC": "25"}, true},
		{"GOGC<25", map[string]string{"GOGC": "25"}, false},
		{"GOMEMLIMIT<64MiB", map[string]string{"GOMEMLIMIT": "67108863"}, true},
		{"GOMEMLIMIT<64MiB", map[string]string{"GOMEMLIMIT": "67108864"}, false},
		{"GOMEMLIMIT<64MiB", map[string]string{"GOMEMLIMIT": "63MiB"}, true},
		{"GOMEMLIMIT<64MiB", nil, false},
		{"GOMEMLIMIT=off", map[string]string{"GOMEMLIMIT": "off"}, true},
		{"GOMEMLIMIT=off", nil, true},
		{"GOMEMLIMIT!=off", map[string]string{"GOMEMLIMIT": "1GiB"}, true},
		{"GOMAXPROCS=1", map[string]string{"GOMAXPROCS": "1"}, true},
		{"GOMAXPROCS=4", nil, true},
		{"GOMAXPROCS=4", map[string]string{"GOMAXPROCS": "0"}, true},
	} {
		parsed, err := condition.Parse(test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		environment := condition.ReadEnvironment(lookup(test.environment), 4)
		if got := parsed.Holds(environment); got != test.want {
			t.Errorf("%q in %v = %v, want %v", test.text, test.environment, got, test.want)
		}
	}
}

func TestZeroConditionHoldsNever(t *testing.T) {
	if (condition.Condition{}).Holds(condition.Environment{}) {
		t.Error("the zero Condition holds")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "GOGC", "GOGC>", ">100", "GOGC > 100", "GOGC>100 ", "GOGC=>100", "GOGC==100", "GOGC>-1", "GOGC>1.5",
		"GOGC>64MiB", "GOMAXPROCS>1B", "GOMAXPROCS=off", "GOMEMLIMIT<64Mi", "GOMEMLIMIT<64MB", "GOMEMLIMIT<MiB",
		"GOMEMLIMIT<99999999TiB", "GOMEMLIMIT<99999999999999999999", "GODEBUG=x", "gogc>100", "GOGC>100,GOGC<200",
	} {
		if parsed, err := condition.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, parsed)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"GOGC>100", "GOMEMLIMIT<64MiB", "GOMEMLIMIT!=off", "GOMAXPROCS=1", "GOGC > 1", "GOGC>8MiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := condition.Parse(text)
		if err != nil {
			return
		}
		again, err := condition.Parse(parsed.String())
		if err != nil || again != parsed {
			t.Errorf("%q reads as %v, which reads back as %v, %v", text, parsed, again, err)
		}
	})
}
