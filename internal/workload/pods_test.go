package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func terminated(reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason}}
}

func readyAt(at time.Time) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
}

func memoryLimit(limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}}
}

func TestPodFacts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   rollout.Pod
	}{
		"just created": {},
		"settings": {
			change: func(pod *corev1.Pod) { pod.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "GOGC", Value: "150"}} },
			want:   rollout.Pod{Settings: settings.Settings{GOGC: 150}},
		},
		"settings of another container": {
			change: func(pod *corev1.Pod) { pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "GOGC", Value: "150"}} },
		},
		"settings that can't be read": {
			change: func(pod *corev1.Pod) { pod.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "GOGC", Value: "all"}} },
			want:   rollout.Pod{Unreadable: `container "app": GOGC="all": want a whole number of percent, or off; the runtime reads this as 100`},
		},
		"no such container": {
			change: func(pod *corev1.Pod) { pod.Spec.Containers = pod.Spec.Containers[:1] },
			want:   rollout.Pod{Unreadable: `there is no container "app"`},
		},
		"cohort": {
			change: func(pod *corev1.Pod) { pod.Labels[v1alpha1.LabelCohort] = "control" },
			want:   rollout.Pod{Cohort: "control"},
		},
		"terminating": {
			change: func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) },
			want:   rollout.Pod{Terminating: true},
		},
		"ready": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{
					{Type: corev1.ContainersReady, Status: corev1.ConditionFalse},
					{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)},
				}
			},
			want: rollout.Pod{FirstReadyAt: noon, Health: verdict.Health{Ready: true, ReadyChangedAt: noon}},
		},
		"ready again": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = readyAt(noon)
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "proxy"}, {Name: "app", RestartCount: 1}}
			},
			want: rollout.Pod{Health: verdict.Health{Ready: true, ReadyChangedAt: noon, Restarts: 1}},
		},
		"ready again after another container": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = readyAt(noon)
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 1}, {Name: "app"}}
			},
			want: rollout.Pod{Health: verdict.Health{Ready: true, ReadyChangedAt: noon}},
		},
		"ready again after a sidecar": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = readyAt(noon)
				running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
				pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", RestartCount: 2, State: running}}
			},
			want: rollout.Pod{Health: verdict.Health{Ready: true, ReadyChangedAt: noon}},
		},
		"ready after an init container that failed at first": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = readyAt(noon)
				pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
					{Name: "mesh", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
					{Name: "migrate", RestartCount: 2, State: terminated("Completed")},
				}
			},
			want: rollout.Pod{FirstReadyAt: noon, Health: verdict.Health{Ready: true, ReadyChangedAt: noon}},
		},
		"on a node": {change: func(pod *corev1.Pod) { pod.Spec.NodeName = "node" }, want: rollout.Pod{Node: "node"}},
		"a memory limit": {
			change: func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Resources = memoryLimit("64Mi")
				pod.Spec.Containers[1].Resources = memoryLimit("512Mi")
			},
			want: rollout.Pod{MemoryLimitBytes: 512 << 20},
		},
		"the memory limit of another container": {change: func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources = memoryLimit("64Mi") }},
		"processors and GODEBUG": {
			change: func(pod *corev1.Pod) {
				pod.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "GODEBUG", Value: "gctrace=1,disablethp=1"}, {Name: "GOMAXPROCS", Value: "2"}}
			},
			want: rollout.Pod{Settings: settings.Settings{GOMAXPROCS: 2, GODEBUG: "disablethp=1"}},
		},
		"processors that can't be told": {
			change: func(pod *corev1.Pod) {
				pod.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "GOGC", Value: "150"}, {Name: "GOMAXPROCS", ValueFrom: &corev1.EnvVarSource{}}}
			},
			want: rollout.Pod{Settings: settings.Settings{GOGC: 150}},
		},
		"not ready any more": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon)}}
			},
			want: rollout.Pod{Health: verdict.Health{ReadyChangedAt: noon}},
		},
		"its node is lost": {
			change: func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionUnknown}}
			},
		},
		"killed for memory and waiting": {
			change: func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "app", RestartCount: 3, LastTerminationState: terminated("OOMKilled"),
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				}}
			},
			want: rollout.Pod{Health: verdict.Health{Restarts: 3, OOMKilled: true}},
		},
		"killed for memory just now": {
			change: func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: terminated("OOMKilled")}}
			},
			want: rollout.Pod{Health: verdict.Health{OOMKilled: true}},
		},
		"crashed": {
			change: func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 1, LastTerminationState: terminated("Error")}}
			},
			want: rollout.Pod{Health: verdict.Health{Restarts: 1}},
		},
		"another container was killed": {
			change: func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 9, LastTerminationState: terminated("OOMKilled")}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "uid", CreationTimestamp: metav1.NewTime(noon), Labels: map[string]string{}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "proxy"}, {Name: "app"}}},
			}
			if test.change != nil {
				test.change(pod)
			}
			test.want.Name, test.want.UID, test.want.Revision, test.want.CreatedAt = "pod", "uid", "revision", noon
			if diff := cmp.Diff(test.want, podFacts(pod, "revision", "app")); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsOf(t *testing.T) {
	deployment := newDeployment()
	current, old := newReplicaSet(deployment, "new", "2", 2), newReplicaSet(deployment, "old", "1", 1)
	other := newDeployment()
	other.UID = "other"
	foreign := newReplicaSet(other, "foreign", "1", 1)
	at := func(pod *corev1.Pod, minute int, phase corev1.PodPhase) corev1.Pod {
		pod.CreationTimestamp = metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))
		pod.Status.Phase = phase
		return *pod
	}
	leaving := at(newPod(&old, "old", "leaving"), 2, corev1.PodRunning)
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	released := at(newPod(&current, "new", "released"), 2, corev1.PodRunning)
	released.OwnerReferences[0].Controller = ptr.To(false)
	handedOver := at(newPod(&old, "old", "handed over"), 4, corev1.PodRunning)
	lost := at(newPod(&old, "deleted", "of a ReplicaSet that is gone"), 5, corev1.PodRunning)
	for _, pod := range []*corev1.Pod{&handedOver, &lost} {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	}
	pods := []corev1.Pod{
		at(newPod(&current, "new", "b"), 3, corev1.PodRunning),
		at(newPod(&current, "new", "a"), 3, corev1.PodPending),
		at(newPod(&old, "old", "oldest"), 1, corev1.PodRunning),
		at(newPod(&foreign, "foreign", "foreign"), 0, corev1.PodRunning),
		at(newPod(&current, "new", "evicted-by-the-kubelet"), 0, corev1.PodFailed),
		at(newPod(&current, "new", "done"), 0, corev1.PodSucceeded),
		leaving, released, handedOver, lost,
	}
	var got []string
	for _, pod := range ofDeployment(deployment, []appsv1.ReplicaSet{current, old, foreign}, pods).podsOf(pods, "app") {
		name := pod.Name + " of " + string(pod.Revision)
		if pod.HandedOver {
			name += ", handed over"
		}
		if pod.Terminating {
			name += ", terminating"
		}
		got = append(got, name)
	}
	want := []string{"oldest of replicaset-old", "leaving of replicaset-old, terminating", "a of replicaset-new", "b of replicaset-new",
		"handed over of replicaset-old, handed over", "of a ReplicaSet that is gone of deleted, handed over"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}
