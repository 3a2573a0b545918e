package workload

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestTargetsOf(t *testing.T) {
	owner := func(apiVersion, kind, name string, controller bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid", Controller: ptr.To(controller)}}
	}
	hash, revision := map[string]string{"pod-template-hash": "5d9c"}, map[string]string{"controller-revision-hash": "7f8b"}
	for name, test := range map[string]struct {
		owners   []metav1.OwnerReference
		labels   map[string]string
		want     string
		revision types.UID
	}{
		"a Deployment's":          {owner("apps/v1", "ReplicaSet", "checkout-5d9c", true), hash, "Deployment checkout, ReplicaSet checkout-5d9c", "uid"},
		"a name with the hash":    {owner("apps/v1", "ReplicaSet", "shop-5d9c-5d9c", true), hash, "Deployment shop-5d9c, ReplicaSet shop-5d9c-5d9c", "uid"},
		"nobody's":                {nil, hash, "", ""},
		"owned, not controlled":   {owner("apps/v1", "ReplicaSet", "checkout-5d9c", false), hash, "", ""},
		"a StatefulSet's":         {owner("apps/v1", "StatefulSet", "checkout", true), revision, "StatefulSet checkout", "7f8b"},
		"a DaemonSet's":           {owner("apps/v1", "DaemonSet", "checkout", true), revision, "DaemonSet checkout", "7f8b"},
		"without a revision":      {owner("apps/v1", "StatefulSet", "checkout", true), hash, "StatefulSet checkout", ""},
		"a Job's":                 {owner("batch/v1", "Job", "checkout-5d9c", true), hash, "", ""},
		"another API's":           {owner("example.com/v1", "ReplicaSet", "checkout-5d9c", true), hash, "ReplicaSet checkout-5d9c", "5d9c"},
		"a custom kind's":         {owner("apps.example.com/v1", "StatefulSet", "checkout", true), revision, "StatefulSet checkout", "7f8b"},
		"one without revisions":   {owner("example.com/v1", "Fleet", "checkout", true), nil, "Fleet checkout", "uid"},
		"a Node's":                {owner("v1", "Node", "checkout", true), hash, "", ""},
		"an older version's":      {owner("extensions/v1beta1", "ReplicaSet", "checkout-5d9c", true), hash, "", ""},
		"a bare ReplicaSet's":     {owner("apps/v1", "ReplicaSet", "checkout", true), nil, "ReplicaSet checkout", "uid"},
		"a ReplicaSet by hand":    {owner("apps/v1", "ReplicaSet", "checkout-other", true), hash, "ReplicaSet checkout-other", "uid"},
		"an Argo Rollout's":       {owner("apps/v1", "ReplicaSet", "checkout-5d9c", true), map[string]string{"rollouts-pod-template-hash": "5d9c"}, "Rollout checkout, ReplicaSet checkout-5d9c", "uid"},
		"nothing but the hash":    {owner("apps/v1", "ReplicaSet", "-5d9c", true), hash, "ReplicaSet -5d9c", "uid"},
		"the hash without a dash": {owner("apps/v1", "ReplicaSet", "checkout5d9c", true), hash, "ReplicaSet checkout5d9c", "uid"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: test.owners, Labels: test.labels}}
		targets, revision := TargetsOf(pod)
		var got []string
		for _, target := range targets {
			got = append(got, target.Kind+" "+target.Name)
		}
		if strings.Join(got, ", ") != test.want || revision != test.revision {
			t.Errorf("%s: %v, revision %q, want %q", name, targets, revision, test.want)
		}
	}
}

func TestSameTarget(t *testing.T) {
	target := func(apiVersion, kind, name string) v1alpha1.TargetReference {
		return v1alpha1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
	one := target("apps/v1", "StatefulSet", "checkout")
	for _, test := range []struct {
		other v1alpha1.TargetReference
		want  bool
	}{
		{one, true},
		{target("apps/v1beta1", "StatefulSet", "checkout"), true},
		{target("apps.example.com/v1", "StatefulSet", "checkout"), false},
		{target("v1", "StatefulSet", "checkout"), false},
		{target("apps/v1", "Deployment", "checkout"), false},
		{target("apps/v1", "StatefulSet", "cart"), false},
	} {
		if got := SameTarget(one, test.other); got != test.want {
			t.Errorf("%+v: %t", test.other, got)
		}
	}
}

func TestRuling(t *testing.T) {
	at := func(name string, age time.Duration, deleted bool) v1alpha1.RuntimeTuningPolicy {
		created := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(-age))
		policy := v1alpha1.RuntimeTuningPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: created}}
		if deleted {
			policy.DeletionTimestamp = &created
		}
		return policy
	}
	for name, test := range map[string]struct {
		policies []v1alpha1.RuntimeTuningPolicy
		want     string
	}{
		"none":                           {},
		"one":                            {[]v1alpha1.RuntimeTuningPolicy{at("b", 0, false)}, "b"},
		"the oldest":                     {[]v1alpha1.RuntimeTuningPolicy{at("a", time.Minute, false), at("b", time.Hour, false), at("c", 0, false)}, "b"},
		"the first by name":              {[]v1alpha1.RuntimeTuningPolicy{at("b", 0, false), at("a", 0, false), at("c", 0, false)}, "a"},
		"one that is deleted is ignored": {[]v1alpha1.RuntimeTuningPolicy{at("a", time.Hour, true), at("b", 0, false)}, "b"},
		"all are deleted":                {[]v1alpha1.RuntimeTuningPolicy{at("a", 0, true), at("b", 0, true)}, ""},
	} {
		got := Ruling(test.policies)
		if (got == nil) != (test.want == "") || got != nil && got.Name != test.want {
			t.Errorf("%s: %v, want %q", name, got, test.want)
		}
		if got != nil && got.CreationTimestamp.IsZero() {
			t.Errorf("%s: not one of the policies given", name)
		}
	}
}
