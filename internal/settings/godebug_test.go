package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// errIgnored is what is said of values that the runtime passes over.
var errIgnored = errors.New("the runtime ignores this")

// godebugValues are values of GODEBUG that a template may declare, and what is managed of them.
var godebugValues = []struct {
	text, want string
	err        error
}{
	{text: ""},
	{text: "gctrace=1"},
	{text: "http2client=0,netdns=cgo+1,default=go1.21"},
	{text: ",,"},
	{text: "madvdontneed=0", want: "madvdontneed=0"},
	{text: "madvdontneed=1", want: "madvdontneed=1"},
	{text: "gctrace=0,madvdontneed=0,disablethp=1", want: "disablethp=1,madvdontneed=0"},
	{text: "madvdontneed=0,disablethp=1,asyncpreemptoff=1", want: "asyncpreemptoff=1,disablethp=1,madvdontneed=0"},
	{text: "disablethp=0,disablethp=1", want: "disablethp=1"},
	{text: "disablethp=1,gctrace=0,disablethp=0", want: "disablethp=0"},
	{text: "disablethp=2", want: "disablethp=1"},
	{text: "disablethp=-1", want: "disablethp=1"},
	{text: "disablethp=+1,", want: "disablethp=1"},
	{text: "disablethp=-0", want: "disablethp=0"},
	{text: "disablethp=00", want: "disablethp=0"},
	{text: "disablethp=2147483647", want: "disablethp=1"},
	{text: "disablethp"},
	{text: " disablethp=1"},
	{text: "disablethp =1"},
	{text: "DisableTHP=1"},
	{text: "=1"},
	{text: "gctrace=disablethp=1"},
	{text: "disablethp=", err: errIgnored},
	{text: "disablethp=on", err: errIgnored},
	{text: "disablethp= 1", err: errIgnored},
	{text: "disablethp=1 ", err: errIgnored},
	{text: "disablethp=1=1", err: errIgnored},
	{text: "disablethp=1#pattern", err: errIgnored},
	{text: "disablethp=2147483648", err: errIgnored},
	{text: "disablethp=0x1", err: errIgnored},
	{text: "disablethp=x,disablethp=1", err: errIgnored},
	{text: "disablethp=1,disablethp=x", err: errIgnored},
}

func TestParseGODEBUG(t *testing.T) {
	for _, test := range godebugValues {
		got, err := ParseGODEBUG(test.text)
		checkError(t, test.text, err, test.err)
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
		again, err := ParseGODEBUG(got)
		if err != nil || again != got {
			t.Errorf("%q: rendered as %q, which reads %q, %v", test.text, got, again, err)
		}
	}
}

func TestParseGODEBUGNamesTheKey(t *testing.T) {
	_, err := ParseGODEBUG("gctrace=1,madvdontneed=yes")
	if err == nil || !strings.Contains(err.Error(), "value of madvdontneed") {
		t.Errorf("error %v, want one that names madvdontneed", err)
	}
}

func TestMergeGODEBUG(t *testing.T) {
	for _, test := range []struct{ text, wanted, want string }{
		{"", "", ""},
		{"", "madvdontneed=0", "madvdontneed=0"},
		{"", "disablethp=1,madvdontneed=0", "disablethp=1,madvdontneed=0"},
		{"gctrace=1", "", "gctrace=1"},
		{"gctrace=1", "madvdontneed=0", "gctrace=1,madvdontneed=0"},
		{"netdns=cgo,gctrace=1", "asyncpreemptoff=1,disablethp=1", "netdns=cgo,gctrace=1,asyncpreemptoff=1,disablethp=1"},
		{"madvdontneed=1,gctrace=1", "madvdontneed=0", "madvdontneed=0,gctrace=1"},
		{"a=1,madvdontneed=1,b=2", "disablethp=1", "a=1,b=2,disablethp=1"},
		{"a=1,madvdontneed=1,b=2", "disablethp=1,madvdontneed=0", "a=1,madvdontneed=0,b=2,disablethp=1"},
		{"madvdontneed=0", "", ""},
		{"madvdontneed=0,disablethp=1", "", ""},
		{"madvdontneed=0,", "", ""},
		{"madvdontneed=1,a=1,madvdontneed=0", "madvdontneed=1", "madvdontneed=1,a=1"},
		{"madvdontneed=1,a=1,madvdontneed=0", "", "a=1"},
		{"a=1,a=2,a=1", "disablethp=1", "a=1,a=2,a=1,disablethp=1"},
		{"disablethp=yes,a", "disablethp=1", "disablethp=1,a"},
		{"disablethp, disablethp=0,DISABLETHP=0", "disablethp=1", "disablethp, disablethp=0,DISABLETHP=0,disablethp=1"},
		{"a=1,,b=2,", "disablethp=1", "a=1,,b=2,,disablethp=1"},
		{",", "", ","},
		{"http2debug=madvdontneed=1", "madvdontneed=0", "http2debug=madvdontneed=1,madvdontneed=0"},
	} {
		got := MergeGODEBUG(test.text, test.wanted)
		if got != test.want {
			t.Errorf("%q with %q: %q, want %q", test.text, test.wanted, got, test.want)
		}
	}
}

func TestApplyMergesGODEBUG(t *testing.T) {
	thp := Settings{GODEBUG: "disablethp=1"}
	for name, test := range map[string]struct {
		settings  Settings
		env, want []corev1.EnvVar
	}{
		"new":  {settings: thp, env: []corev1.EnvVar{variable("PORT", "80")}, want: []corev1.EnvVar{variable("PORT", "80"), variable("GODEBUG", "disablethp=1")}},
		"gone": {env: []corev1.EnvVar{variable("GODEBUG", "disablethp=1"), variable("PORT", "80")}, want: []corev1.EnvVar{variable("PORT", "80")}},
		"foreign keys stay, in their place": {
			settings: thp,
			env:      []corev1.EnvVar{variable("GODEBUG", "gctrace=1,madvdontneed=0,netdns=go"), variable("PORT", "80")},
			want:     []corev1.EnvVar{variable("GODEBUG", "gctrace=1,netdns=go,disablethp=1"), variable("PORT", "80")},
		},
		"foreign keys stay, alone": {
			env:  []corev1.EnvVar{variable("GODEBUG", "gctrace=1,madvdontneed=0")},
			want: []corev1.EnvVar{variable("GODEBUG", "gctrace=1")},
		},
		"all keys": {
			settings: Settings{GOGC: 50, MemoryLimitBytes: 1024, GOMAXPROCS: 2, GODEBUG: "asyncpreemptoff=1"},
			env:      []corev1.EnvVar{variable("GOMAXPROCS", "8"), variable("GODEBUG", "http2client=0")},
			want: []corev1.EnvVar{variable("GOMAXPROCS", "2"), variable("GODEBUG", "http2client=0,asyncpreemptoff=1"),
				variable("GOGC", "50"), variable("GOMEMLIMIT", "1024")},
		},
		"GOMAXPROCS is removed": {env: []corev1.EnvVar{variable("GOMAXPROCS", "8"), variable("PORT", "80")}, want: []corev1.EnvVar{variable("PORT", "80")}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.settings.Apply(test.env)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGODEBUGFromAPIRefuses(t *testing.T) {
	for want, in := range map[string][]v1alpha1.GODEBUGSetting{
		`"gctrace": not a managed key`:   {{Name: "disablethp", Value: "1"}, {Name: "gctrace", Value: "1"}},
		`"disablethp": given twice`:      {{Name: "disablethp", Value: "1"}, {Name: "disablethp", Value: "0"}},
		`"disablethp": value "2": want`:  {{Name: "disablethp", Value: "2"}},
		`"disablethp": value "1,a=1": w`: {{Name: "disablethp", Value: "1,a=1"}},
		`"madvdontneed": value "": want`: {{Name: "madvdontneed"}},
	} {
		got, err := FromAPI(v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("1Gi"), GODEBUG: in})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %s", err, want)
		}
		if got != (Settings{}) {
			t.Errorf("%+v along with an error", got)
		}
	}
}
