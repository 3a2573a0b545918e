package settings

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gogcValues are values of GOGC that a template may declare, good ones and bad ones.
var gogcValues = []string{
	"1", "25", "100", "100000", "2147483647", "+50", "007", "-1", "-100", "-2147483648",
	"0", "-0", "2147483648", "-2147483649", "99999999999999999999",
	"OFF", "Off", " 100", "100 ", "100%", "1e2", "0x64", "1_000", "12.5", "NaN", "$(PERCENT)", "١٠٠", "--1", "+",
}

// processorValues are values of GOMAXPROCS that a template may declare, good ones and bad ones.
var processorValues = []string{
	"1", "2", "16", "1000", "+3", "007", "0", "-0", "-1", "2147483648", "99999999999999999999", "2.0", "1e1", "0x4", "1_0", " 2", "2 ", "٢", "$(CPUS)", "auto", "+", "--1",
}

// memoryLimitValues are values of GOMEMLIMIT that a template may declare, good ones and bad ones.
var memoryLimitValues = []string{
	"1", "1024", "536870912", "512B", "512KiB", "512MiB", "3GiB", "2TiB", "+5", "+5KiB", "0512MiB",
	"9223372036854775806", "9223372036854775807", "9223372036854775807B", "8388607TiB",
	"0", "0B", "0GiB", "-0", "9223372036854775808", "8388608TiB", "9007199254740992KiB", "99999999999999999999MiB",
	"512Mi", "512M", "1G", "1Gi", "512MB", "512KB", "5iB", "B", "iB", "KiB", "-1", "-1MiB", "+B", "--1",
	"1.5GiB", "1e9", "512 MiB", " 512MiB", "512MiB ", "512mib", "512PiB", "1_000", "0x10", "OFF", "$(LIMIT)", "٥MiB", "5µB",
}

// errStops and errNeverRests are what the reference says of values that are refused.
var (
	errStops      = errors.New("stops at start")
	errNeverRests = errors.New("never rest")
)

var memoryLimitGrammar = regexp.MustCompile(`^([+-]?[0-9]+)(?:([KMGT])?i?B)?$`)

// referenceMemoryLimit reads GOMEMLIMIT by a regular expression and big numbers.
func referenceMemoryLimit(text string) (int64, error) {
	if text == "" || text == "off" {
		return 0, nil
	}
	match := memoryLimitGrammar.FindStringSubmatch(text)
	hasUnit, hasI := match != nil && match[2] != "", strings.HasSuffix(text, "iB")
	if match == nil || hasUnit != hasI {
		return 0, errStops
	}
	n, ok := new(big.Int).SetString(match[1], 10)
	if !ok || n.Sign() < 0 {
		return 0, errStops
	}
	n.Lsh(n, map[string]uint{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2]])
	switch {
	case n.Sign() == 0:
		return 0, errNeverRests
	case !n.IsInt64():
		return 0, errStops
	case n.Int64() == math.MaxInt64:
		return 0, nil
	}
	return n.Int64(), nil
}

// checkError compares an error with the reference's, by what it tells the reader.
func checkError(t *testing.T, text string, got, want error) {
	t.Helper()
	switch {
	case want == nil && got != nil:
		t.Errorf("%q: %v, want no error", text, got)
	case want != nil && (got == nil || !strings.Contains(got.Error(), want.Error())):
		t.Errorf("%q: error %v, want one that says %q", text, got, want)
	case want != nil && !strings.Contains(got.Error(), strconv.Quote(text)):
		t.Errorf("%q: error %v does not name the value", text, got)
	}
}

func TestParseMemoryLimit(t *testing.T) {
	for _, text := range memoryLimitValues {
		got, err := ParseMemoryLimit(text)
		want, wantErr := referenceMemoryLimit(text)
		checkError(t, text, err, wantErr)
		if got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}

func TestParseMemoryLimitByHand(t *testing.T) {
	for text, want := range map[string]int64{
		"":                    0,
		"off":                 0,
		"9223372036854775807": 0,
		"1":                   1,
		"512MiB":              536870912,
		"3GiB":                3221225472,
		"2TiB":                2199023255552,
		"100B":                100,
	} {
		got, err := ParseMemoryLimit(text)
		if err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParseGOGC(t *testing.T) {
	readAs100 := errors.New("reads this as 100")
	for _, test := range []struct {
		text string
		want GOGC
		err  error
	}{
		{text: "", want: 0},
		{text: "off", want: Off},
		{text: "1", want: 1},
		{text: "25", want: 25},
		{text: "+50", want: 50},
		{text: "007", want: 7},
		{text: "2147483647", want: math.MaxInt32},
		{text: "-1", want: Off},
		{text: "-2147483648", want: Off},
		{text: "0", err: errNeverRests},
		{text: "-0", err: errNeverRests},
		{text: "2147483648", err: readAs100},
		{text: "OFF", err: readAs100},
		{text: " 100", err: readAs100},
		{text: "100%", err: readAs100},
		{text: "12.5", err: readAs100},
		{text: "1_000", err: readAs100},
		{text: "$(PERCENT)", err: readAs100},
	} {
		got, err := ParseGOGC(test.text)
		checkError(t, test.text, err, test.err)
		if got != test.want {
			t.Errorf("%q: %d, want %d", test.text, got, test.want)
		}
	}
}

func TestParseGOMAXPROCS(t *testing.T) {
	for _, test := range []struct {
		text string
		want int32
		err  error
	}{
		{text: "", want: 0},
		{text: "1", want: 1},
		{text: "64", want: 64},
		{text: "+3", want: 3},
		{text: "007", want: 7},
		{text: "2147483647", want: math.MaxInt32},
		{text: "0", err: errIgnored},
		{text: "-0", err: errIgnored},
		{text: "-1", err: errIgnored},
		{text: "2147483648", err: errIgnored},
		{text: "2.0", err: errIgnored},
		{text: " 2", err: errIgnored},
		{text: "2 ", err: errIgnored},
		{text: "0x4", err: errIgnored},
		{text: "off", err: errIgnored},
		{text: "$(CPUS)", err: errIgnored},
	} {
		got, err := ParseGOMAXPROCS(test.text)
		checkError(t, test.text, err, test.err)
		if got != test.want {
			t.Errorf("%q: %d, want %d", test.text, got, test.want)
		}
	}
}

// rendered pairs settings with their canonical form.
var rendered = []struct {
	settings  Settings
	canonical string
}{
	{Settings{}, ""},
	{Settings{GOGC: 150}, "GOGC=150"},
	{Settings{GOGC: Off}, "GOGC=off"},
	{Settings{MemoryLimitBytes: 512 << 20}, "GOMEMLIMIT=536870912"},
	{Settings{GOGC: 150, MemoryLimitBytes: 483183820}, "GOGC=150,GOMEMLIMIT=483183820"},
	{Settings{GOGC: math.MaxInt32, MemoryLimitBytes: math.MaxInt64 - 1}, "GOGC=2147483647,GOMEMLIMIT=9223372036854775806"},
	{Settings{GOMAXPROCS: 2}, "GOMAXPROCS=2"},
	{Settings{GODEBUG: "disablethp=1"}, "GODEBUG=disablethp=1"},
	{Settings{GODEBUG: "disablethp=1,madvdontneed=0"}, "GODEBUG=disablethp=1,madvdontneed=0"},
	{Settings{GOGC: 150, GOMAXPROCS: math.MaxInt32}, "GOGC=150,GOMAXPROCS=2147483647"},
	{Settings{Off, 1, 3, "asyncpreemptoff=1,disablethp=1,madvdontneed=0"}, "GOGC=off,GOMEMLIMIT=1,GOMAXPROCS=3,GODEBUG=asyncpreemptoff=1,disablethp=1,madvdontneed=0"},
}

func TestCanonicalRoundTrip(t *testing.T) {
	for _, test := range rendered {
		if got := test.settings.Canonical(); got != test.canonical {
			t.Errorf("%+v: canonical %q, want %q", test.settings, got, test.canonical)
		}
		got, err := ParseCanonical(test.canonical)
		if err != nil || got != test.settings {
			t.Errorf("%q: parsed %+v, %v, want %+v", test.canonical, got, err, test.settings)
		}
	}
}

func TestParseCanonicalRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"GOGC":                                "has no value",
		",":                                   "has no value",
		"GOGC=150,":                           "has no value",
		"=150":                                "not a managed variable",
		"GOTRACEBACK=all":                     "not a managed variable",
		"gogc=150":                            "not a managed variable",
		"GOGC=":                               "not in canonical form",
		"GOGC=+150":                           "not in canonical form",
		"GOGC=-1":                             "not in canonical form",
		"GOGC=150,GOGC=150":                   "not in canonical form",
		"GOGC=150,GOGC=200":                   "not in canonical form",
		"GOMEMLIMIT=512MiB":                   "not in canonical form",
		"GOMEMLIMIT=off":                      "not in canonical form",
		"GOMEMLIMIT=9223372036854775807":      "not in canonical form",
		"GOMEMLIMIT=536870912,GOGC=150":       "not in canonical form",
		"GOGC=150, GOMEMLIMIT=536870912":      "not a managed variable",
		"GOMAXPROCS=2,GOGC=150":               "not in canonical form",
		"GOMAXPROCS=+2":                       "not in canonical form",
		"GODEBUG=":                            "not in canonical form",
		"GODEBUG=gctrace=1":                   "not in canonical form",
		"GODEBUG=disablethp=2":                "not in canonical form",
		"GODEBUG=disablethp=1,":               "not in canonical form",
		"GODEBUG=disablethp=1,GOGC=150":       "not in canonical form",
		"GODEBUG=madvdontneed=0,disablethp=1": "not in canonical form",
		"disablethp=1":                        "not a managed variable",
		"GODEBUG":                             "has no value",
		"GOMAXPROCS=0":                        "the runtime ignores this",
		"GODEBUG=disablethp=on":               "the runtime ignores this",
		"GOGC=abc":                            "whole number",
		"GOGC=0":                              "never rest",
		"GOMEMLIMIT=512Mi":                    "want bytes",
		"GOMEMLIMIT=99999999999999999999":     "more bytes than an int64 holds",
	} {
		got, err := ParseCanonical(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("%q: error %v, want one that names the text and says %q", text, err, want)
		}
		if got != (Settings{}) {
			t.Errorf("%q: %+v along with an error", text, got)
		}
	}
}

func TestDigest(t *testing.T) {
	seen := map[string]Settings{}
	shape := regexp.MustCompile(`^[0-9a-f]{10}$`)
	for _, test := range rendered {
		digest := test.settings.Digest()
		if !shape.MatchString(digest) {
			t.Errorf("%+v: digest %q, want ten hexadecimal digits", test.settings, digest)
		}
		if other, ok := seen[digest]; ok {
			t.Errorf("%+v and %+v have one digest", test.settings, other)
		}
		seen[digest] = test.settings
	}
	// The digest may stand in names that outlive a version of gopacer.
	for s, want := range map[Settings]string{
		{GOGC: 150}:                              "fde84ed266",
		{GOGC: 150, MemoryLimitBytes: 483183820}: "3e09c33537",
		{}:                                       "e3b0c44298",
	} {
		if got := s.Digest(); got != want {
			t.Errorf("the digest of %q is %q, was %q in versions before", s.Canonical(), got, want)
		}
	}
}

func TestEffectiveGOGC(t *testing.T) {
	for gogc, want := range map[GOGC]GOGC{0: 100, 25: 25, 100: 100, Off: Off} {
		if got := (Settings{GOGC: gogc}).EffectiveGOGC(); got != want {
			t.Errorf("%d: %d, want %d", gogc, got, want)
		}
	}
}

func TestGOGCString(t *testing.T) {
	got := map[GOGC]string{}
	want := map[GOGC]string{0: "", 1: "1", 100: "100", Off: "off", -100: "off", math.MinInt32: "off"}
	for gogc := range want {
		got[gogc] = gogc.String()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("GOGC as text (-want +got):\n%s", diff)
	}
}
