package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// wide sets every key.
var wide = settings.Settings{GOGC: 150, MemoryLimitBytes: 400 << 20, GOMAXPROCS: 4, GODEBUG: "disablethp=1,madvdontneed=0"}

func fromLimit(name string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}
}

func TestDecideProcessors(t *testing.T) {
	fewer := wide
	fewer.GOMAXPROCS = 0
	none := settings.Settings{}
	for name, test := range map[string]struct {
		env    []corev1.EnvVar
		proven settings.Settings
		then   string
		now    string
		want   settings.Settings // nothing where the pod starts as declared
	}{
		"the same CPU limit":                      {proven: wide, then: "4", now: "4", want: wide},
		"a smaller CPU limit":                     {proven: wide, then: "4", now: "3500m", want: fewer},
		"a greater CPU limit":                     {proven: wide, then: "4", now: "8", want: wide},
		"GOMAXPROCS from the limit":               {proven: wide, then: "4", now: "4", env: []corev1.EnvVar{fromLimit("GOMAXPROCS")}, want: none},
		"GODEBUG from elsewhere":                  {proven: wide, then: "4", now: "4", env: []corev1.EnvVar{fromLimit("GODEBUG")}, want: none},
		"GOMAXPROCS twice":                        {proven: wide, then: "4", now: "4", env: []corev1.EnvVar{{Name: "GOMAXPROCS"}, {Name: "GOMAXPROCS"}}, want: none},
		"GOMAXPROCS declared since":               {proven: wide, then: "4", now: "4", env: []corev1.EnvVar{{Name: "GOMAXPROCS", Value: "2"}}, want: none},
		"a managed key of GODEBUG declared since": {proven: wide, then: "4", now: "4", env: []corev1.EnvVar{{Name: "GODEBUG", Value: "disablethp=1"}}, want: none},
		"a foreign key of GODEBUG declared since": {proven: wide, then: "4", now: "4", env: []corev1.EnvVar{{Name: "GODEBUG", Value: "gctrace=1"}}, want: wide},
		"GOMAXPROCS from the limit, not proven":   {proven: baseline, then: "4", now: "4", env: []corev1.EnvVar{fromLimit("GOMAXPROCS")}, want: baseline},
		"GOMAXPROCS from a limit that shrank":     {proven: wide, then: "4", now: "2", env: []corev1.EnvVar{fromLimit("GOMAXPROCS")}, want: fewer},
	} {
		t.Run(name, func(t *testing.T) {
			pod, policy := newPod(), newPolicy()
			app := container(pod, "app")
			app.Env = append(app.Env, test.env...)
			app.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(test.now)}
			policy.Status.Baseline.Settings, policy.Status.Baseline.Footing.CPULimit = test.proven.API(), ptr.To(resource.MustParse(test.then))
			want := isBaseline(test.want)
			if test.want == none {
				want = isDeclared()
			}
			if diff := cmp.Diff(want, Decide(pod, policy)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCandidateProcessors: a candidate is given whole, or not at all.
func TestCandidateProcessors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Container)
		open   bool
	}{
		"open":                      {func(*corev1.Container) {}, true},
		"foreign GODEBUG":           {func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: "GODEBUG", Value: "gctrace=1"}) }, true},
		"GOMAXPROCS from the limit": {func(c *corev1.Container) { c.Env = append(c.Env, fromLimit("GOMAXPROCS")) }, false},
		"GODEBUG from elsewhere":    {func(c *corev1.Container) { c.Env = append(c.Env, fromLimit("GODEBUG")) }, false},
		"a new CPU limit": {func(c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod, policy := newPod(), newPolicy()
			policy.Status.Trial.Candidate = wide.API()
			test.change(container(pod, "app"))
			offer, open := Candidate(pod, policy)
			if open != test.open || open && offer.Settings != wide {
				t.Errorf("open %t with %+v, want %t", open, offer.Settings, test.open)
			}
		})
	}
}

func TestWriteProcessorsAndGODEBUG(t *testing.T) {
	for name, test := range map[string]struct {
		settings  settings.Settings
		env, want []corev1.EnvVar // beside PORT, GOGC and TOKEN
		annotated string
	}{
		"all keys": {
			settings: wide,
			want: []corev1.EnvVar{
				{Name: "GOMEMLIMIT", Value: "419430400"}, {Name: "GOMAXPROCS", Value: "4"}, {Name: "GODEBUG", Value: "disablethp=1,madvdontneed=0"},
			},
			annotated: "GOGC=150,GOMEMLIMIT=419430400,GOMAXPROCS=4,GODEBUG=disablethp=1,madvdontneed=0",
		},
		"GODEBUG merged by key": {
			settings:  settings.Settings{GOGC: 150, GODEBUG: "disablethp=1"},
			env:       []corev1.EnvVar{{Name: "GODEBUG", Value: "netdns=go,disablethp=0,gctrace=1,madvdontneed=0"}},
			want:      []corev1.EnvVar{{Name: "GODEBUG", Value: "netdns=go,disablethp=1,gctrace=1"}},
			annotated: "GOGC=150,GODEBUG=disablethp=1",
		},
		"foreign GODEBUG kept": {
			settings: baseline, env: []corev1.EnvVar{{Name: "GODEBUG", Value: "gctrace=1"}}, want: []corev1.EnvVar{{Name: "GODEBUG", Value: "gctrace=1"}},
			annotated: "GOGC=150",
		},
		"GOMAXPROCS from the limit untouched": {
			settings: baseline, env: []corev1.EnvVar{fromLimit("GOMAXPROCS"), fromLimit("GODEBUG")}, want: []corev1.EnvVar{fromLimit("GOMAXPROCS"), fromLimit("GODEBUG")},
			annotated: "GOGC=150",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := newPod(), newPod()
			container(got, "app").Env = append(container(got, "app").Env, test.env...)
			container(want, "app").Env = append(container(want, "app").Env, test.want...)
			container(want, "app").Env[1].Value = "150"
			want.Labels[v1alpha1.LabelPolicy] = "policy"
			want.Annotations = map[string]string{v1alpha1.AnnotationSettings: test.annotated}
			isBaseline(test.settings).Write(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

// TestI7Scope_ForeignGODEBUG goes through an API server: of a pod's GODEBUG only the managed keys change, and of the rest nothing.
func TestI7Scope_ForeignGODEBUG(t *testing.T) { bothWays(t, testI7Scope_ForeignGODEBUG) }

func testI7Scope_ForeignGODEBUG(t *testing.T, s *shop) {
	policy := newPolicy()
	tried := settings.Settings{GOGC: 300, GODEBUG: "madvdontneed=0"}
	policy.Status.Trial.Candidate = tried.API()
	s.policy(policy)
	s.serve(s.policies())
	foreign := func(pod *corev1.Pod) {
		app := container(pod, "app")
		app.Env = append(app.Env, corev1.EnvVar{Name: "GODEBUG", Value: "http2client=0,gctrace=1"}, fromLimit("GOMAXPROCS"))
	}
	canary, tuned := s.mustPod(foreign), s.mustPod(foreign)
	for _, test := range []struct {
		pod  *corev1.Pod
		want settings.Settings
		text string
	}{{canary, tried, "http2client=0,gctrace=1,madvdontneed=0"}, {tuned, baseline, "http2client=0,gctrace=1"}} {
		if got := settingsOf(t, test.pod); got != test.want {
			t.Errorf("pod %s starts with %+v, want %+v", test.pod.Name, got, test.want)
		}
		env := container(test.pod, "app").Env
		if got := env[3].Value; env[3].Name != "GODEBUG" || got != test.text {
			t.Errorf("pod %s starts with %s=%q, want %q", test.pod.Name, env[3].Name, got, test.text)
		}
		if from := env[4].ValueFrom; from == nil || from.ResourceFieldRef == nil || from.ResourceFieldRef.Resource != "limits.cpu" {
			t.Errorf("pod %s: GOMAXPROCS is now %+v", test.pod.Name, env[4])
		}
	}
}
