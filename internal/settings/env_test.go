package settings

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

func variable(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func fromSecret(name string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "key"}}}
}

func TestDeclared(t *testing.T) {
	for name, test := range map[string]struct {
		env  []corev1.EnvVar
		want Settings
		err  string
	}{
		"nothing":             {},
		"other variables":     {env: []corev1.EnvVar{variable("PORT", "80"), fromSecret("TOKEN"), variable("GOTRACEBACK", "all")}},
		"GOGC":                {env: []corev1.EnvVar{variable("GOGC", "25")}, want: Settings{GOGC: 25}},
		"both, in any order":  {env: []corev1.EnvVar{variable("GOMEMLIMIT", "512MiB"), variable("A", "b"), variable("GOGC", "off")}, want: Settings{GOGC: Off, MemoryLimitBytes: 512 << 20}},
		"empty values":        {env: []corev1.EnvVar{variable("GOGC", ""), variable("GOMEMLIMIT", "")}},
		"GOMEMLIMIT off":      {env: []corev1.EnvVar{variable("GOMEMLIMIT", "off")}},
		"names in lower case": {env: []corev1.EnvVar{variable("gogc", "25")}},
		"other duplicates":    {env: []corev1.EnvVar{variable("A", "1"), variable("A", "2"), variable("GOGC", "25")}, want: Settings{GOGC: 25}},
		"GOGC twice":          {env: []corev1.EnvVar{variable("GOGC", "25"), variable("GOGC", "25")}, err: "sets GOGC twice: remove one"},
		"GOMEMLIMIT twice":    {env: []corev1.EnvVar{variable("GOMEMLIMIT", "1GiB"), variable("A", "b"), fromSecret("GOMEMLIMIT")}, err: "sets GOMEMLIMIT twice: remove one"},
		"GOMAXPROCS":          {env: []corev1.EnvVar{variable("GOMAXPROCS", "4")}, want: Settings{GOMAXPROCS: 4}},
		"managed GODEBUG":     {env: []corev1.EnvVar{variable("GODEBUG", "madvdontneed=0,gctrace=1,disablethp=1")}, want: Settings{GODEBUG: "disablethp=1,madvdontneed=0"}},
		"foreign GODEBUG":     {env: []corev1.EnvVar{variable("GODEBUG", "gctrace=1,asynctimerchan=1")}},
		"no processors":       {env: []corev1.EnvVar{variable("GOMAXPROCS", "0")}, err: "the runtime ignores this"},
		"words for GODEBUG":   {env: []corev1.EnvVar{variable("GODEBUG", "disablethp=true")}, err: "the runtime ignores this"},
		"GOMEMLIMIT of both":  {env: []corev1.EnvVar{fromSecret("GOMAXPROCS"), fromSecret("GOMEMLIMIT")}, err: "takes GOMEMLIMIT from valueFrom"},
		"GOGC valueFrom":      {env: []corev1.EnvVar{fromSecret("GOGC")}, err: "takes GOGC from valueFrom"},
		"reference":           {env: []corev1.EnvVar{variable("GOGC", "$(PERCENT)")}, err: "whole number"},
		"quantity":            {env: []corev1.EnvVar{variable("GOMEMLIMIT", "512Mi")}, err: "want bytes"},
		"never resting":       {env: []corev1.EnvVar{variable("GOGC", "0")}, err: "never rest"},
		"good, then bad":      {env: []corev1.EnvVar{variable("GOGC", "25"), variable("GOMEMLIMIT", "1G")}, err: "want bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Declared(&corev1.Container{Name: "app", Env: test.env})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if err != nil && !strings.Contains(err.Error(), `container "app"`) {
				t.Errorf("error %v does not name the container", err)
			}
			if got != test.want {
				t.Errorf("declared %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	both := Settings{GOGC: 150, MemoryLimitBytes: 1024}
	for name, test := range map[string]struct {
		settings  Settings
		env, want []corev1.EnvVar
	}{
		"nothing on nothing": {},
		"both on nothing":    {settings: both, want: []corev1.EnvVar{variable("GOGC", "150"), variable("GOMEMLIMIT", "1024")}},
		"new keys go to the end": {
			settings: both,
			env:      []corev1.EnvVar{variable("PORT", "80"), fromSecret("TOKEN")},
			want:     []corev1.EnvVar{variable("PORT", "80"), fromSecret("TOKEN"), variable("GOGC", "150"), variable("GOMEMLIMIT", "1024")},
		},
		"a key keeps its place": {
			settings: both,
			env:      []corev1.EnvVar{variable("GOMEMLIMIT", "1GiB"), variable("PORT", "80"), variable("GOGC", "25"), variable("A", "$(GOGC)")},
			want:     []corev1.EnvVar{variable("GOMEMLIMIT", "1024"), variable("PORT", "80"), variable("GOGC", "150"), variable("A", "$(GOGC)")},
		},
		"a key that is not set is removed": {
			settings: Settings{GOGC: 150},
			env:      []corev1.EnvVar{variable("GOMEMLIMIT", "1GiB"), variable("PORT", "80"), variable("GOGC", "25")},
			want:     []corev1.EnvVar{variable("PORT", "80"), variable("GOGC", "150")},
		},
		"nothing removes both": {
			env:  []corev1.EnvVar{variable("GOGC", "25"), variable("PORT", "80"), variable("GOMEMLIMIT", "1GiB")},
			want: []corev1.EnvVar{variable("PORT", "80")},
		},
		"off is a value": {settings: Settings{GOGC: Off}, env: []corev1.EnvVar{variable("GOGC", "25")}, want: []corev1.EnvVar{variable("GOGC", "off")}},
		"a source goes with the old value": {
			settings: Settings{GOGC: 150},
			env:      []corev1.EnvVar{fromSecret("GOGC")},
			want:     []corev1.EnvVar{variable("GOGC", "150")},
		},
		"the kubelet takes the last of two entries, so one is left": {
			settings: Settings{GOGC: 150},
			env:      []corev1.EnvVar{variable("GOGC", "25"), variable("PORT", "80"), variable("GOGC", "50")},
			want:     []corev1.EnvVar{variable("GOGC", "150"), variable("PORT", "80")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.settings.Apply(test.env)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

// TestApplyProperties holds for any environment that Declared accepts: what was applied is declared, applying again changes nothing, other
// variables keep their values and order, and the input is as it was.
func TestApplyProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		env, s := randomEnv(random), randomSettings(random)
		before := slices.Clone(env)
		after := s.Apply(env)
		if diff := cmp.Diff(before, env); diff != "" {
			t.Fatalf("Apply changed its input (-before +after):\n%s", diff)
		}
		declared, err := Declared(&corev1.Container{Env: after})
		if err != nil || declared != s {
			t.Fatalf("%+v applied to %v declares %+v, %v", s, env, declared, err)
		}
		if diff := cmp.Diff(after, s.Apply(after)); diff != "" {
			t.Fatalf("applying again changes (-once +twice):\n%s", diff)
		}
		if diff := cmp.Diff(unmanaged(env), unmanaged(after), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Apply changed other variables (-before +after):\n%s", diff)
		}
		back, err := Declared(&corev1.Container{Env: env})
		if err != nil {
			t.Fatalf("the random environment %v is not valid: %v", env, err)
		}
		if got, _ := Declared(&corev1.Container{Env: back.Apply(after)}); got != back {
			t.Fatalf("%+v does not come back, but %+v", back, got)
		}
	}
}

func TestApplySharesNoMemory(t *testing.T) {
	env := make([]corev1.EnvVar, 1, 8)
	env[0] = variable("PORT", "80")
	first := Settings{GOGC: 50}.Apply(env)
	second := Settings{GOGC: 200}.Apply(env)
	if first[1].Value != "50" || second[1].Value != "200" {
		t.Errorf("two environments made from one input share memory: %v, %v", first, second)
	}
}

func randomSettings(random *rand.Rand) Settings {
	return Settings{
		GOGC:             []GOGC{0, Off, 1, 25, 400}[random.IntN(5)],
		MemoryLimitBytes: []int64{0, 1, 512 << 20, 1 << 40}[random.IntN(4)],
		GOMAXPROCS:       []int32{0, 1, 2, 64}[random.IntN(4)],
		GODEBUG:          []string{"", "disablethp=1", "madvdontneed=0", "asyncpreemptoff=1,disablethp=0,madvdontneed=1"}[random.IntN(4)],
	}
}

func randomEnv(random *rand.Rand) []corev1.EnvVar {
	all := []corev1.EnvVar{
		variable("PORT", "80"), variable("GOGC", "25"), fromSecret("TOKEN"), variable("GOMEMLIMIT", "1GiB"),
		variable("PORT", "81"), variable("EMPTY", ""), variable("ARGUMENT", "$(GOGC)"), variable("GOMAXPROCS", "8"),
		variable("GODEBUG", []string{"", "gctrace=1", "madvdontneed=1", "a=1,disablethp=1,b=2,disablethp=0", "x,,y=2,"}[random.IntN(5)]),
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:random.IntN(len(all)+1)]
}

// unmanaged is what of an environment is none of gopacer's business.
func unmanaged(env []corev1.EnvVar) []corev1.EnvVar {
	var rest []corev1.EnvVar
	for _, v := range env {
		switch v.Name {
		case EnvGOGC, EnvGOMEMLIMIT, EnvGOMAXPROCS:
		case EnvGODEBUG:
			if foreign := foreignGODEBUG(v.Value); foreign != "" {
				rest = append(rest, variable(EnvGODEBUG, foreign))
			}
		default:
			rest = append(rest, v)
		}
	}
	return rest
}

var managedField = regexp.MustCompile(`^(asyncpreemptoff|disablethp|madvdontneed)=`)

// foreignGODEBUG is what of a value is none of gopacer's business, byte for byte.
func foreignGODEBUG(text string) string {
	fields := strings.Split(text, ",")
	return strings.Join(slices.DeleteFunc(fields, managedField.MatchString), ",")
}
