package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

// fromLimit is how templates often set GOMAXPROCS.
func fromLimit() corev1.EnvVar {
	return corev1.EnvVar{Name: "GOMAXPROCS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}
}

// unmanageableEnvs are environments, most of which are such that GOMAXPROCS or GODEBUG can't be told.
var unmanageableEnvs = map[string]struct {
	env    []corev1.EnvVar
	want   []string
	reason string
}{
	"none there":       {},
	"plain":            {env: []corev1.EnvVar{variable("GOMAXPROCS", "2"), variable("GODEBUG", "gctrace=1,disablethp=0"), fromSecret("TOKEN")}},
	"empty":            {env: []corev1.EnvVar{variable("GOMAXPROCS", ""), variable("GODEBUG", "")}},
	"a dollar alone":   {env: []corev1.EnvVar{variable("GODEBUG", "a=$HOME,b=(x)")}},
	"from the limit":   {env: []corev1.EnvVar{fromLimit()}, want: []string{"GOMAXPROCS"}, reason: "GOMAXPROCS is taken from valueFrom"},
	"from a secret":    {env: []corev1.EnvVar{fromSecret("GODEBUG")}, want: []string{"GODEBUG"}, reason: "GODEBUG is taken from valueFrom"},
	"another variable": {env: []corev1.EnvVar{variable("GOMAXPROCS", "$(CPUS)")}, want: []string{"GOMAXPROCS"}, reason: "GOMAXPROCS is made of another variable"},
	"in part":          {env: []corev1.EnvVar{variable("GODEBUG", "gctrace=1,$(MORE)")}, want: []string{"GODEBUG"}, reason: "GODEBUG is made of another variable"},
	"twice":            {env: []corev1.EnvVar{variable("GOMAXPROCS", "2"), variable("A", "b"), variable("GOMAXPROCS", "2")}, want: []string{"GOMAXPROCS"}, reason: "GOMAXPROCS is given twice"},
	"both, and twice": {
		env:  []corev1.EnvVar{fromLimit(), variable("GODEBUG", "disablethp=1"), variable("GODEBUG", ""), variable("GOMAXPROCS", "4")},
		want: []string{"GODEBUG", "GOMAXPROCS"}, reason: "GOMAXPROCS is given twice",
	},
}

func TestUnmanageable(t *testing.T) {
	all := Settings{GOGC: 50, MemoryLimitBytes: 1024, GOMAXPROCS: 3, GODEBUG: "madvdontneed=0"}
	for name, test := range unmanageableEnvs {
		t.Run(name, func(t *testing.T) {
			container := &corev1.Container{Name: "app", Env: append([]corev1.EnvVar{variable("GOGC", "25")}, test.env...)}
			if diff := cmp.Diff(test.want, Unmanageable(container)); diff != "" {
				t.Errorf("unmanageable (-want +got):\n%s", diff)
			}
			err := all.CheckAgainst(container)
			if (err == nil) != (test.reason == "") || err != nil && !strings.Contains(err.Error(), `container "app": `+test.reason) {
				t.Errorf("error %v, want %q", err, test.reason)
			}
			if err := (Settings{GOGC: 50, MemoryLimitBytes: 1024}).CheckAgainst(container); err != nil {
				t.Errorf("the collector can be tuned all the same, but: %v", err)
			}
			declared, err := Declared(container)
			if err != nil || declared.GOGC != 25 {
				t.Fatalf("declared %+v, %v: the collector's settings can be told", declared, err)
			}
			if slices.Contains(test.want, "GOMAXPROCS") && declared.GOMAXPROCS != 0 || slices.Contains(test.want, "GODEBUG") && declared.GODEBUG != "" {
				t.Errorf("declared %+v, though it can't be told", declared)
			}
			of := func(env []corev1.EnvVar) []corev1.EnvVar {
				return slices.DeleteFunc(slices.Clone(env), func(v corev1.EnvVar) bool { return !slices.Contains(test.want, v.Name) })
			}
			for _, s := range []Settings{all, {}} {
				if diff := cmp.Diff(of(container.Env), of(s.Apply(container.Env)), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%+v: Apply changed what can't be told (-before +after):\n%s", s, diff)
				}
			}
		})
	}
}

// TestApplyBesideUnmanageable: what can be told is set all the same, and nothing is given twice.
func TestApplyBesideUnmanageable(t *testing.T) {
	env := []corev1.EnvVar{fromLimit(), variable("GOGC", "25"), variable("GODEBUG", "gctrace=1")}
	got := Settings{GOGC: 50, GOMAXPROCS: 3, GODEBUG: "disablethp=1"}.Apply(env)
	want := []corev1.EnvVar{fromLimit(), variable("GOGC", "50"), variable("GODEBUG", "gctrace=1,disablethp=1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestCheckAgainstNamesOneThatIsSet(t *testing.T) {
	container := &corev1.Container{Name: "app", Env: []corev1.EnvVar{fromLimit(), fromSecret("GODEBUG")}}
	for s, want := range map[Settings]string{
		{GOMAXPROCS: 3}:            "GOMAXPROCS is taken from valueFrom, so 3 can't be given to it: write one plain value into the pod template, or none",
		{GODEBUG: "disablethp=1"}:  "GODEBUG is taken from valueFrom, so disablethp=1 can't be given",
		{GOGC: 50, GOMAXPROCS: 16}: "so 16 can't",
	} {
		if err := s.CheckAgainst(container); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one that says %q", s, err, want)
		}
	}
}
