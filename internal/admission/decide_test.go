package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func memoryLimit(limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}}
}

func isDeclared() Decision { return Decision{Result: ResultDeclared} }

func isBaseline(s settings.Settings) Decision {
	return Decision{Result: ResultBaseline, Policy: "policy", Container: "app", Settings: s}
}

func TestDecide(t *testing.T) {
	withLimit := settings.Settings{GOGC: 150, MemoryLimitBytes: 400 << 20}
	proveOn := func(policy *v1alpha1.RuntimeTuningPolicy, s settings.Settings, limit string) {
		quantity := resource.MustParse(limit)
		policy.Status.Baseline.Settings, policy.Status.Baseline.Footing.MemoryLimit = s.API(), &quantity
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod, *v1alpha1.RuntimeTuningPolicy)
		want   Decision
	}{
		"promoted":   {want: isBaseline(baseline)},
		"not judged": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Status = v1alpha1.RuntimeTuningPolicyStatus{} }, want: isDeclared()},
		"declared": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Baseline.Source = v1alpha1.BaselineDeclared
			},
			want: isDeclared(),
		},
		"the policy is being deleted": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.DeletionTimestamp = ptr.To(metav1.Now()) },
			want:   isDeclared(),
		},
		"mode Observe, later": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Mode = v1alpha1.ModeObserve },
			want:   isBaseline(baseline),
		},
		"a named pod": {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Name = "by-hand" }, want: isBaseline(baseline)},
		"a revision that declares another value": {
			change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Spec.Containers[1].Env[1].Value = "50" },
			want:   isDeclared(),
		},
		"a revision whose environment can't be managed": {
			change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) {
				pod.Spec.Containers[1].Env[1] = corev1.EnvVar{Name: "GOGC", ValueFrom: &corev1.EnvVarSource{}}
			},
			want: isDeclared(),
		},
		"a revision without the container": {
			change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Spec.Containers[1].Name = "renamed" },
			want:   isDeclared(),
		},
		"no target in status": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Status.Target = nil },
			want:   isDeclared(),
		},
		"the same memory limit": {
			change: func(pod *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				proveOn(p, withLimit, "512Mi")
				pod.Spec.Containers[1].Resources = memoryLimit("512Mi")
			},
			want: isBaseline(withLimit),
		},
		"a smaller memory limit": {
			change: func(pod *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				proveOn(p, withLimit, "512Mi")
				pod.Spec.Containers[1].Resources = memoryLimit("256Mi")
			},
			want: isBaseline(baseline),
		},
		"the limit of another container": {
			change: func(pod *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				proveOn(p, withLimit, "512Mi")
				pod.Spec.Containers[0].Resources = memoryLimit("1Mi")
			},
			want: isBaseline(withLimit),
		},
		"a status that no manager writes": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Baseline.Settings.GOGC = ptr.To(intstr.FromString("all"))
			},
			want: isDeclared(),
		},
		"a footing that no manager writes": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Baseline.Footing.Declared.GOGC = ptr.To(intstr.FromString("all"))
			},
			want: isDeclared(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod, policy := newPod(), newPolicy()
			if test.change != nil {
				test.change(pod, policy)
			}
			if diff := cmp.Diff(test.want, Decide(pod, policy)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCandidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod, *v1alpha1.RuntimeTuningPolicy)
		slots  []string // open to the pod
	}{
		"open": {slots: []string{slot}},
		"some slots are taken": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Trial.Slots = []v1alpha1.Slot{{ID: "taken000", PodUID: "pod"}, {ID: "open0001"}, {ID: "taken002", PodUID: "other"}, {ID: "open0003"}}
			},
			slots: []string{"open0001", "open0003"},
		},
		"all slots are taken": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Status.Trial.Slots[0].PodUID = "pod" }},
		"no slots":            {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Status.Trial.Slots = nil }},
		"no trial":            {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Status.Trial = nil }},
		"promoting": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Trial.Stage = v1alpha1.StagePromoting
		}},
		"reverting": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Trial.Stage = v1alpha1.StageReverting
		}},
		"mode Recommend": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Mode = v1alpha1.ModeRecommend }},
		"mode Observe":   {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Mode = v1alpha1.ModeObserve }},
		"to be reverted": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Suspend = v1alpha1.SuspendRevert }},
		"on hold: a step that has begun is filled": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Suspend = v1alpha1.SuspendHold },
			slots:  []string{slot},
		},
		"being deleted":    {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.DeletionTimestamp = ptr.To(metav1.Now()) }},
		"another revision": {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.OwnerReferences[0].UID = "other" }},
		"no revision": {change: func(pod *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
			pod.OwnerReferences[0].UID, p.Status.Trial.Revision = "", ""
		}},
		"another owner":     {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.OwnerReferences[0].Kind = "StatefulSet" }},
		"no owner":          {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.OwnerReferences = nil }},
		"another target":    {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) { p.Spec.TargetRef.Name = "cart" }},
		"a name of its own": {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Name = "by-hand" }},
		"no generateName":   {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.GenerateName = "" }},
		"no container":      {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Spec.Containers[1].Name = "renamed" }},
		"another value is declared": {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) {
			pod.Spec.Containers[1].Env[1].Value = "50"
		}},
		"the candidate would be given in part": {change: func(pod *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Trial.Candidate = settings.Settings{GOGC: 300, MemoryLimitBytes: 400 << 20}.API()
			p.Status.Trial.Footing.MemoryLimit = ptr.To(resource.MustParse("512Mi"))
			pod.Spec.Containers[1].Resources = memoryLimit("256Mi")
		}},
		"a candidate that no manager writes": {change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Trial.Candidate.GOGC = ptr.To(intstr.FromString("all"))
		}},
		"a trial before anything is promoted": {
			change: func(_ *corev1.Pod, p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared}
			},
			slots: []string{slot},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod, policy := newPod(), newPolicy()
			if test.change != nil {
				test.change(pod, policy)
			}
			before := pod.DeepCopy()
			got, ok := Candidate(pod, policy)
			if ok != (test.slots != nil) {
				t.Fatalf("the trial is open: %t, want %t", ok, !ok)
			}
			want := Offer{}
			if ok {
				want = Offer{Policy: "policy", Container: "app", Settings: candidate, Slots: test.slots}
			}
			if diff := cmp.Diff(want.Slots, got.Slots); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
			if ok && !cmp.Equal(want, got) {
				t.Errorf("offer %+v, want %+v", got, want)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	for name, test := range map[string]struct {
		decision Decision
		change   func(*corev1.Pod) // from a new pod to what it becomes
	}{
		"nobody's": {},
		"declared": {decision: isDeclared()},
		"baseline": {decision: isBaseline(baseline), change: func(pod *corev1.Pod) {
			pod.Spec.Containers[1].Env[1].Value = "150"
			pod.Labels[v1alpha1.LabelPolicy] = "policy"
			pod.Annotations = map[string]string{v1alpha1.AnnotationSettings: "GOGC=150"}
		}},
		"a baseline that sets nothing": {decision: isBaseline(settings.Settings{}), change: func(pod *corev1.Pod) {
			env := pod.Spec.Containers[1].Env
			pod.Spec.Containers[1].Env = []corev1.EnvVar{env[0], env[2]}
			pod.Labels[v1alpha1.LabelPolicy] = "policy"
			pod.Annotations = map[string]string{v1alpha1.AnnotationSettings: ""}
		}},
		"canary": {decision: Offer{Policy: "policy", Container: "app", Settings: candidate}.Canary(slot), change: func(pod *corev1.Pod) {
			pod.Name = "checkout-5d9c-a1b2c3d4"
			pod.Spec.Containers[1].Env[1].Value = "300"
			pod.Labels[v1alpha1.LabelPolicy], pod.Labels[v1alpha1.LabelCohort] = "policy", v1alpha1.CohortCanary
			pod.Annotations = map[string]string{v1alpha1.AnnotationSettings: "GOGC=300"}
		}},
		"no such container": {decision: Decision{Result: ResultBaseline, Policy: "policy", Container: "gone", Settings: baseline}},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := newPod(), newPod()
			if test.change != nil {
				test.change(want)
			}
			test.decision.Write(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteOnPodWithoutLabels(t *testing.T) {
	pod := newPod()
	pod.Labels = nil
	isBaseline(baseline).Write(pod)
	if diff := cmp.Diff(map[string]string{v1alpha1.LabelPolicy: "policy"}, pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
