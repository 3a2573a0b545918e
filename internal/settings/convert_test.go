package settings

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func gogc(value intstr.IntOrString) *intstr.IntOrString { return &value }

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

func TestFromAPI(t *testing.T) {
	for name, test := range map[string]struct {
		in   v1alpha1.RuntimeSettings
		want Settings
		err  string
	}{
		"nothing":         {},
		"a percentage":    {in: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromInt32(150))}, want: Settings{GOGC: 150}},
		"off":             {in: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromString("off"))}, want: Settings{GOGC: Off}},
		"a quantity":      {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("512Mi")}, want: Settings{MemoryLimitBytes: 512 << 20}},
		"decimal units":   {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("1G")}, want: Settings{MemoryLimitBytes: 1_000_000_000}},
		"half a byte":     {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("1048576500m")}, want: Settings{MemoryLimitBytes: 1048577}},
		"no limit at all": {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("9223372036854775807")}},
		"beyond int64":    {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("100Ei")}},
		"both":            {in: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromInt32(1)), GOMEMLIMIT: quantity("2Gi")}, want: Settings{GOGC: 1, MemoryLimitBytes: 2 << 30}},
		"processors":      {in: v1alpha1.RuntimeSettings{GOMAXPROCS: ptr.To[int32](4)}, want: Settings{GOMAXPROCS: 4}},
		"keys of GODEBUG": {
			in:   v1alpha1.RuntimeSettings{GODEBUG: []v1alpha1.GODEBUGSetting{{Name: "madvdontneed", Value: "0"}, {Name: "disablethp", Value: "1"}}},
			want: Settings{GODEBUG: "disablethp=1,madvdontneed=0"},
		},
		"0 processors":     {in: v1alpha1.RuntimeSettings{GOMAXPROCS: ptr.To[int32](0)}, err: "gomaxprocs 0: want a whole number"},
		"-1 processors":    {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("1Gi"), GOMAXPROCS: ptr.To[int32](-1)}, err: "gomaxprocs -1"},
		"0":                {in: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromInt32(0))}, err: "never rest"},
		"another word":     {in: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromString("on"))}, err: "whole number"},
		"0 bytes":          {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("0")}, err: "above 0"},
		"less than none":   {in: v1alpha1.RuntimeSettings{GOMEMLIMIT: quantity("-1Mi")}, err: "above 0"},
		"good, and no use": {in: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromInt32(50)), GOMEMLIMIT: quantity("0")}, err: "above 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromAPI(test.in)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if got != test.want {
				t.Errorf("settings %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestAPIRoundTrip goes through JSON, as a policy's status does.
func TestAPIRoundTrip(t *testing.T) {
	for _, want := range []Footing{
		{},
		{Declared: Settings{GOGC: 25}},
		{Declared: Settings{GOGC: Off}, MemoryLimitBytes: 1},
		{Declared: Settings{GOGC: math.MaxInt32, MemoryLimitBytes: math.MaxInt64 - 1}, MemoryLimitBytes: math.MaxInt64 - 1},
		{Declared: Settings{MemoryLimitBytes: 483183820}, MemoryLimitBytes: 512 << 20},
		{Declared: Settings{GOMAXPROCS: 1}, CPULimitMilli: 1},
		{Declared: Settings{GOMAXPROCS: math.MaxInt32}, CPULimitMilli: 1500},
		{Declared: Settings{GODEBUG: "madvdontneed=1"}, CPULimitMilli: 128_000},
		{Declared: Settings{Off, 1, 2, "asyncpreemptoff=1,disablethp=0,madvdontneed=0"}, MemoryLimitBytes: 1 << 30, CPULimitMilli: 2000},
	} {
		text, err := json.Marshal(want.API())
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		var stored v1alpha1.Footing
		if err := json.Unmarshal(text, &stored); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := FootingFromAPI(stored)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAPIIsReadableYAML(t *testing.T) {
	for want, footing := range map[string]Footing{
		`{"declared":{"gogc":"off","gomemlimit":"512Mi"},"memoryLimit":"1Gi"}`: {
			Declared: Settings{GOGC: Off, MemoryLimitBytes: 512 << 20}, MemoryLimitBytes: 1 << 30,
		},
		`{"declared":{"gomaxprocs":2,"godebug":[{"name":"disablethp","value":"1"},{"name":"madvdontneed","value":"0"}]},"cpuLimit":"1500m"}`: {
			Declared: Settings{GOMAXPROCS: 2, GODEBUG: "disablethp=1,madvdontneed=0"}, CPULimitMilli: 1500,
		},
		`{"cpuLimit":"2"}`: {CPULimitMilli: 2000},
	} {
		text, err := json.Marshal(footing.API())
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != want {
			t.Errorf("a policy would show %s, want %s", text, want)
		}
	}
}

func TestFootingFromAPIRefuses(t *testing.T) {
	_, err := FootingFromAPI(v1alpha1.Footing{Declared: v1alpha1.RuntimeSettings{GOGC: gogc(intstr.FromString("all"))}})
	if err == nil || !strings.Contains(err.Error(), `GOGC="all"`) {
		t.Errorf("error %v, want one that names the value", err)
	}
}

func TestFootingOf(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
	requested := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceCPU: resource.MustParse("1"),
	}}
	processors := func(limit string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)}}
	}
	for name, test := range map[string]struct {
		container corev1.Container
		want      Footing
		fails     bool
	}{
		"nothing":               {},
		"a limit":               {container: corev1.Container{Resources: limited}, want: Footing{MemoryLimitBytes: 1 << 30}},
		"a request is no limit": {container: corev1.Container{Resources: requested}},
		"a limit and settings": {
			container: corev1.Container{Resources: limited, Env: []corev1.EnvVar{variable("GOGC", "25")}},
			want:      Footing{Declared: Settings{GOGC: 25}, MemoryLimitBytes: 1 << 30},
		},
		"processors": {
			container: corev1.Container{Resources: processors("1500m"), Env: []corev1.EnvVar{variable("GOMAXPROCS", "2"), variable("GODEBUG", "disablethp=1")}},
			want:      Footing{Declared: Settings{GOMAXPROCS: 2, GODEBUG: "disablethp=1"}, CPULimitMilli: 1500},
		},
		"what follows the limit": {
			container: corev1.Container{Resources: processors("3"), Env: []corev1.EnvVar{fromLimit(), variable("GOGC", "25")}},
			want:      Footing{Declared: Settings{GOGC: 25}, CPULimitMilli: 3000},
		},
		"what can't be managed": {container: corev1.Container{Resources: limited, Env: []corev1.EnvVar{fromSecret("GOGC")}}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FootingOf(&test.container)
			if (err != nil) != test.fails {
				t.Fatalf("error %v, want one: %t", err, test.fails)
			}
			if got != test.want {
				t.Errorf("footing %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestFootingOn(t *testing.T) {
	const mebibyte = 1 << 20
	declared := Settings{GOGC: 25}
	declaredWithLimit := Settings{GOGC: 25, MemoryLimitBytes: 100 * mebibyte}
	proven := Settings{GOGC: 150, MemoryLimitBytes: 450 * mebibyte}
	without := Settings{GOGC: 150}
	for name, test := range map[string]struct {
		then, now Footing
		want      Settings
		holds     bool
	}{
		"unchanged":           {then: Footing{Declared: declared, MemoryLimitBytes: 512 * mebibyte}, now: Footing{Declared: declared, MemoryLimitBytes: 512 * mebibyte}, want: proven, holds: true},
		"unchanged, no limit": {then: Footing{Declared: declared}, now: Footing{Declared: declared}, want: proven, holds: true},
		"the limit grew":      {then: Footing{Declared: declared, MemoryLimitBytes: 512 * mebibyte}, now: Footing{Declared: declared, MemoryLimitBytes: 1024 * mebibyte}, want: proven, holds: true},
		"the limit is gone":   {then: Footing{Declared: declared, MemoryLimitBytes: 512 * mebibyte}, now: Footing{Declared: declared}, want: proven, holds: true},
		"the limit shrank":    {then: Footing{Declared: declared, MemoryLimitBytes: 512 * mebibyte}, now: Footing{Declared: declared, MemoryLimitBytes: 511 * mebibyte}, want: without, holds: true},
		"the limit is new":    {then: Footing{Declared: declared}, now: Footing{Declared: declared, MemoryLimitBytes: 1024 * mebibyte}, want: without, holds: true},
		"the limit shrank, and a GOMEMLIMIT is declared": {
			then:  Footing{Declared: declaredWithLimit, MemoryLimitBytes: 512 * mebibyte},
			now:   Footing{Declared: declaredWithLimit, MemoryLimitBytes: 256 * mebibyte},
			want:  Settings{GOGC: 150, MemoryLimitBytes: 100 * mebibyte},
			holds: true,
		},
		"another GOGC is declared":           {then: Footing{Declared: declared}, now: Footing{Declared: Settings{GOGC: 50}}},
		"no GOGC is declared any more":       {then: Footing{Declared: declared}, now: Footing{}},
		"a GOMEMLIMIT is declared":           {then: Footing{Declared: declared}, now: Footing{Declared: declaredWithLimit}},
		"the default is declared in writing": {then: Footing{}, now: Footing{Declared: Settings{GOGC: 100}}},
		"all changed":                        {then: Footing{Declared: declared, MemoryLimitBytes: 512 * mebibyte}, now: Footing{Declared: declaredWithLimit, MemoryLimitBytes: 256 * mebibyte}},
	} {
		t.Run(name, func(t *testing.T) {
			got, holds := test.then.On(test.now, proven)
			if got != test.want || holds != test.holds {
				t.Errorf("%+v, %t, want %+v, %t", got, holds, test.want, test.holds)
			}
		})
	}
}

// TestFootingOnCPU changes the CPU limit, alone and along with the memory limit.
func TestFootingOnCPU(t *testing.T) {
	proven := Settings{GOGC: 150, MemoryLimitBytes: 900, GOMAXPROCS: 4, GODEBUG: "disablethp=1"}
	without := Settings{GOGC: 150, MemoryLimitBytes: 900, GODEBUG: "disablethp=1"}
	two := Settings{GOMAXPROCS: 2, GODEBUG: "madvdontneed=0"}
	for name, test := range map[string]struct {
		then, now Footing
		want      Settings
		holds     bool
	}{
		"unchanged":                {then: Footing{CPULimitMilli: 4000}, now: Footing{CPULimitMilli: 4000}, want: proven, holds: true},
		"the limit grew":           {then: Footing{CPULimitMilli: 4000}, now: Footing{CPULimitMilli: 4001}, want: proven, holds: true},
		"the limit is gone":        {then: Footing{CPULimitMilli: 4000}, now: Footing{}, want: proven, holds: true},
		"the limit shrank":         {then: Footing{CPULimitMilli: 4000}, now: Footing{CPULimitMilli: 3999}, want: without, holds: true},
		"the limit is new":         {then: Footing{}, now: Footing{CPULimitMilli: 64_000}, want: without, holds: true},
		"only the memory shrank":   {then: Footing{MemoryLimitBytes: 1000}, now: Footing{MemoryLimitBytes: 999}, want: Settings{150, 0, 4, "disablethp=1"}, holds: true},
		"less of both":             {then: Footing{MemoryLimitBytes: 1000, CPULimitMilli: 4000}, now: Footing{MemoryLimitBytes: 500, CPULimitMilli: 2000}, want: Settings{GOGC: 150, GODEBUG: "disablethp=1"}, holds: true},
		"shrank, declared applies": {then: Footing{Declared: two, CPULimitMilli: 4000}, now: Footing{Declared: two, CPULimitMilli: 2000}, want: Settings{150, 900, 2, "disablethp=1"}, holds: true},
		"more are declared":        {then: Footing{Declared: two, CPULimitMilli: 4000}, now: Footing{Declared: Settings{GOMAXPROCS: 3, GODEBUG: two.GODEBUG}, CPULimitMilli: 4000}},
		"other GODEBUG":            {then: Footing{Declared: two, CPULimitMilli: 4000}, now: Footing{Declared: Settings{GOMAXPROCS: 2}, CPULimitMilli: 4000}},
	} {
		t.Run(name, func(t *testing.T) {
			got, holds := test.then.On(test.now, proven)
			if got != test.want || holds != test.holds {
				t.Errorf("%+v, %t, want %+v, %t", got, holds, test.want, test.holds)
			}
		})
	}
}
