package admission

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/workload"
)

// Texts that a template may have, good ones and bad ones; some mean the same.
var texts = map[string][]string{
	"GOGC": {"", "off", "-1", "25", "+25", "025", "100", "2147483647", "2147483648", "0", "-0", "-2147483649", "lots", "1e2", " 25", "$(PERCENT)", "12345678901"},
	"GOMEMLIMIT": {
		"", "off", "9223372036854775807", "536870912", "512MiB", "+512MiB", "524288KiB", "536870912B", "0512MiB", "1GiB", "2TiB", "8388608TiB", "512Mi", "0", "-1", "B",
		"9223372036854775808", "00000000000000000000512MiB", "$(LIMIT)", "1.5GiB",
	},
	"GOMAXPROCS": {"", "2", "+2", "002", "4", "0", "-2", "2147483648", "two", "$(CPUS)"},
	"GODEBUG": {
		"", "gctrace=1", "disablethp=1", "disablethp=0,gctrace=1,disablethp=1,disablethp=0", "madvdontneed=1,disablethp=1,madvdontneed=1", "disablethp=2,gctrace=1", "gctrace=1,disablethp=0,disablethp=1", "netdns=go,madvdontneed=0,,asyncpreemptoff=1", "disablethp",
		"disablethp=on", "disablethp=1=2", "madvdontneed=2147483648", ",", "xdisablethp=1", "disablethp=+1,madvdontneed=-0", "gctrace=$(LEVEL)",
	},
}

func anyOf[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// randomEnv has managed variables among others, in any order, now and then twice or from elsewhere.
func randomEnv(random *rand.Rand) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: "PORT", Value: "80"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"}}}}
	env = env[:random.IntN(3)]
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		for range anyOf(random, 0, 1, 1, 1, 1, 1, 1, 2) {
			variable := corev1.EnvVar{Name: name, Value: anyOf(random, texts[name]...)}
			if random.IntN(20) == 0 {
				variable = fromLimit(name)
			}
			env = append(env, variable)
		}
	}
	random.Shuffle(len(env), func(i, j int) { env[i], env[j] = env[j], env[i] })
	return env
}

func randomLimits(random *rand.Rand) corev1.ResourceList {
	limits := corev1.ResourceList{}
	if memory := anyOf(random, "", "", "512Mi", "536870911", "536870911500m", "1Gi", "0"); memory != "" {
		limits[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	if cpu := anyOf(random, "", "", "2", "1999m", "4"); cpu != "" {
		limits[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	return limits
}

func randomSettings(random *rand.Rand) settings.Settings {
	return settings.Settings{
		GOGC: anyOf[settings.GOGC](random, 0, settings.Off, 50, 150), MemoryLimitBytes: anyOf[int64](random, 0, 400<<20),
		GOMAXPROCS: anyOf[int32](random, 0, 0, 3), GODEBUG: anyOf(random, "", "disablethp=1", "asyncpreemptoff=0,disablethp=0,madvdontneed=1"),
	}
}

// randomTarget is a policy that has promoted something, and the container that it was promoted on.
func randomTarget(random *rand.Rand, name string) (*v1alpha1.RuntimeTuningPolicy, corev1.Container) {
	for {
		app := corev1.Container{Name: "app", Image: "app", Env: randomEnv(random), Resources: corev1.ResourceRequirements{Limits: randomLimits(random)}}
		footing, err := settings.FootingOf(&app)
		promoted := randomSettings(random)
		if err != nil || promoted.CheckAgainst(&app) != nil || tooLong(app.Env) {
			continue
		}
		policy := newPolicy()
		policy.Name, policy.Spec.TargetRef.Name, policy.Status.Trial = name, name, nil
		policy.Status.Baseline.Settings, policy.Status.Baseline.Footing = promoted.API(), footing.API()
		return policy, app
	}
}

// tooLong says that GOMEMLIMIT has more digits than the policy reads.
func tooLong(env []corev1.EnvVar) bool {
	for _, variable := range env {
		if variable.Name == "GOMEMLIMIT" && strings.TrimLeft(variable.Value, "0") == "9223372036854775808" {
			return true
		}
	}
	return false
}

// TestPolicyIsSettingsApply has the API server evaluate the policy on random pods: each starts with what Decide and Write give it in Go.
func TestPolicyIsSettingsApply(t *testing.T) {
	const targets, podsOfEach = 30, 10
	random := rand.New(rand.NewPCG(1, 36))
	s := newShop(t)
	results := map[Result]int{}
	for i := range targets {
		policy, app := randomTarget(random, fmt.Sprintf("target-%d", i))
		s.store(policy.Spec.TargetRef, workload.Given(policy))
		probe := newPod()
		probe.Spec.Containers[1], probe.OwnerReferences[0].Name = *app.DeepCopy(), policy.Spec.TargetRef.Name+"-5d9c"
		s.awaitPolicy(policy, probe)
		for range podsOfEach {
			pod := newPod()
			pod.Namespace, pod.OwnerReferences[0].Name = s.namespace, policy.Spec.TargetRef.Name+"-5d9c"
			pod.Spec.Containers[1] = *app.DeepCopy()
			if random.IntN(3) > 0 {
				pod.Spec.Containers[1].Resources.Limits = randomLimits(random)
			}
			if random.IntN(3) == 0 {
				pod.Spec.Containers[1].Env = randomEnv(random)
			}
			if random.IntN(4) == 0 && !tooLong(pod.Spec.Containers[1].Env) {
				pod.Labels[v1alpha1.LabelCohort], pod.Annotations = "canary", map[string]string{v1alpha1.AnnotationSettings: "x", "kept": "yes"}
			}
			results[s.comparePolicy(policy, pod)]++
		}
	}
	if results[ResultBaseline] < targets || results[ResultDeclared] < targets {
		t.Errorf("results %v: too few of one kind to mean anything", results)
	}
}

// comparePolicy creates a pod without the webhook, for a try, and compares it with what the webhook would have made of it.
func (s *shop) comparePolicy(policy *v1alpha1.RuntimeTuningPolicy, pod *corev1.Pod) Result {
	s.t.Helper()
	want, got := pod.DeepCopy(), pod.DeepCopy()
	Strip(want)
	decision := Decide(want, policy)
	decision.Write(want)
	if err := s.client.Create(s.t.Context(), got, client.DryRunAll); err != nil {
		s.t.Fatalf("try to create a pod: %v", err)
	}
	note := got.Annotations[v1alpha1.AnnotationDeclared]
	delete(got.Annotations, v1alpha1.AnnotationDeclared)
	if diff := cmp.Diff(want.Spec.Containers[1].Env, got.Spec.Containers[1].Env, cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("environment of a pod that declares %+v, limits %v, %s (-in Go +in CEL):\n%s",
			pod.Spec.Containers[1].Env, pod.Spec.Containers[1].Resources.Limits, decision.Result, diff)
	}
	for _, pair := range [][2]map[string]string{{want.Labels, got.Labels}, {want.Annotations, got.Annotations}} {
		if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateEmpty()); diff != "" {
			s.t.Errorf("marks (-in Go +in CEL):\n%s", diff)
		}
	}
	if decision.Result == ResultBaseline {
		footing, err := settings.FootingOf(&pod.Spec.Containers[1])
		if wanted := "revision-of-the-trial/app/" + footing.Declared.Canonical(); err != nil || note != wanted {
			s.t.Errorf("the note says %q, want %q, %v", note, wanted, err)
		}
	}
	return decision.Result
}
