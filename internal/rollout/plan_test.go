package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/internal/verdict"
)

func planOf(steps ...string) Plan {
	plan := Plan{MaxUnavailable: intstr.FromInt32(1)}
	for _, step := range steps {
		plan.Steps = append(plan.Steps, Step{Canary: intstr.Parse(step)})
	}
	return plan
}

func TestPodsOfStep(t *testing.T) {
	for _, test := range []struct {
		steps    string
		replicas int
		canary   []int // by step
		control  []int
	}{
		{"1 2 3", 6, []int{1, 2, 3, 3, 3}, []int{1, 2, 3, 3, 3}}, // a trial may be further than the spec has steps
		{"10% 25% 50%", 6, []int{1, 2, 3}, []int{1, 2, 3}},
		{"10% 25% 50%", 7, []int{1, 2, 4}, []int{1, 2, 3}},
		{"10% 12% 50%", 8, []int{1, 1, 4}, []int{1, 1, 4}},
		{"10% 25% 50%", 100, []int{10, 25, 50}, []int{10, 25, 50}},
		{"50% 10%", 10, []int{5, 5}, []int{5, 5}}, // never fewer than before
		{"3 20%", 10, []int{3, 3}, []int{3, 3}},
		{"100%", 10, []int{9}, []int{1}}, // one pod is always left
		{"500", 10, []int{9}, []int{1}},
		{"100%", 2000, []int{500}, []int{500}}, // the CRD bounds the lists
		{"1 2 3", 2, []int{1, 1, 1}, []int{1, 1, 1}},
		{"1 2 3", 3, []int{1, 2, 2}, []int{1, 1, 1}},
		{"1 2 3", 5, []int{1, 2, 3}, []int{1, 2, 2}},
		{"1 2 3", 1, []int{1, 1, 1}, []int{0, 0, 0}}, // the one pod, before and after
		{"1 2 3", 0, []int{0, 0, 0}, []int{0, 0, 0}},
		{"", 6, []int{0}, []int{0}}, // a spec that can't be read
	} {
		plan := planOf(strings.Fields(test.steps)...)
		for step := range test.canary {
			got := []int{plan.CanaryPods(step, test.replicas), plan.ControlPods(step, test.replicas)}
			if diff := cmp.Diff([]int{test.canary[step], test.control[step]}, got); diff != "" {
				t.Errorf("%q, %d replicas, step %d: canary and control pods %s", test.steps, test.replicas, step, diff)
			}
		}
	}
}

func TestFeasible(t *testing.T) {
	for surges, cases := range map[bool]map[int]string{
		false: {0: "no replicas", 1: "at least 2", 2: "", 6: "", 60: ""},
		true:  {0: "no replicas", 1: "", 2: "", 6: "", 60: ""},
	} {
		for replicas, want := range cases {
			got := planOf("1", "2", "3").Feasible(replicas, surges)
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%d replicas, surge %t: %q, want %q", replicas, surges, got, want)
			}
		}
	}
	if planOf().Feasible(100, true) == "" {
		t.Error("a plan without steps has no canary pod")
	}
}

func TestUnprovable(t *testing.T) {
	for replicas, want := range map[int]string{
		2: "compares 1 canary with 1 control", 3: "compares 2 canary with 1 control", 4: "3 canary with 1 control", 5: "3 canary with 2 control", 6: "", 60: "",
	} {
		got := planOf("1", "2", "3").Unprovable(replicas)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%d replicas: %q, want %q", replicas, got, want)
		}
	}
	if planOf("1", "2").Unprovable(100) == "" {
		t.Error("two canary pods prove nothing, however many they are compared with")
	}
}

func TestUnavailable(t *testing.T) {
	for _, test := range []struct {
		value    string
		replicas int
		want     int
	}{{"1", 6, 1}, {"3", 6, 3}, {"25%", 10, 2}, {"25%", 3, 1}, {"100%", 5, 5}, {"10%", 0, 1}, {"0", 6, 1}} {
		plan := Plan{MaxUnavailable: intstr.Parse(test.value)}
		if got := plan.Unavailable(test.replicas); got != test.want {
			t.Errorf("%s of %d: %d, want %d", test.value, test.replicas, got, test.want)
		}
	}
}

// podsOf makes pods from letters: R ready, u unready, T terminating though ready.
func podsOf(letters string) []Pod {
	var pods []Pod
	for i, letter := range letters {
		name := fmt.Sprintf("%c%d", letter, i)
		pods = append(pods, Pod{UID: types.UID(name), Name: name, Terminating: letter == 'T', Health: verdict.Health{Ready: letter != 'u'}})
	}
	return pods
}

func TestAffordable(t *testing.T) {
	for _, test := range []struct {
		name     string
		most     int
		replicas int
		pods     string
		wanted   string // indexes of pods
		want     []string
	}{
		{"all are up", 1, 3, "RRR", "012", []string{"R0"}},
		{"one is down", 1, 3, "RRu", "01", nil},
		{"what is down costs nothing", 1, 3, "RRu", "0 2", []string{"u2"}},
		{"all that is down", 1, 4, "Ruuu", "0123", []string{"u1", "u2", "u3"}},
		{"terminating is down", 1, 3, "RRT", "01", nil},
		{"not created yet is down", 1, 3, "RR", "01", nil},
		{"two of three may be down", 2, 3, "RRR", "012", []string{"R0", "R1"}},
		{"one of two that may be is down", 2, 4, "RRRu", "012", []string{"R0"}},
		{"more are up than asked for", 1, 3, "RRRRR", "012", []string{"R0"}},
		{"more are up and one is not", 1, 3, "RRRu", "012", []string{"R0"}},
		{"nothing is asked for", 1, 0, "RR", "01", []string{"R0"}},
		{"nothing is wanted", 1, 3, "RRR", "", nil},
		{"nothing is there", 1, 3, "", "", nil},
	} {
		pods := podsOf(test.pods)
		var wanted []Pod
		for _, index := range test.wanted {
			if index != ' ' {
				wanted = append(wanted, pods[index-'0'])
			}
		}
		got := Affordable(Plan{MaxUnavailable: intstr.FromInt(test.most)}, test.replicas, pods, wanted)
		if diff := cmp.Diff(test.want, names(got)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestEvidenceLength(t *testing.T) {
	warmAt := stamp(epoch)
	for _, test := range []struct {
		since, want time.Duration
	}{{0, 0}, {19 * time.Second, 0}, {20 * time.Second, 20 * time.Second}, {time.Hour, time.Hour}, {72 * time.Hour, MaxEvidence}, {-time.Minute, 0}} {
		trial := sceneAt(t, atOnce).status().trial
		if got := EvidenceLength(trial, epoch.Add(test.since), recentLength); got != 0 {
			t.Errorf("%s before the warm-up is over", got)
		}
		trial.WarmAt = &warmAt
		if got := EvidenceLength(trial, epoch.Add(test.since), recentLength); got != test.want {
			t.Errorf("%s after the warm-up: %s, want %s", test.since, got, test.want)
		}
	}
}
