package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
)

// longestObjectName is what the API server takes for a custom resource.
const longestObjectName = 253

// BaselineName is the name of a target's RuntimeBaseline: kind and name, with the group where it is not apps. Too long a one ends in a digest.
func BaselineName(target v1alpha1.TargetReference) string {
	kind := strings.ToLower(target.Kind)
	if version, err := schema.ParseGroupVersion(target.APIVersion); err == nil && version.Group != appsv1.GroupName {
		kind += "." + version.Group
	}
	name := kind + "-" + target.Name
	if len(name) <= longestObjectName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:5])
	return strings.TrimRight(name[:longestObjectName-len(digest)-1], ".-") + "-" + digest
}

// Given is what new pods of a policy's target start with, as far as its status alone tells: nil where that is what they declare. It is what
// admission.Decide goes by.
func Given(policy *v1alpha1.RuntimeTuningPolicy) *v1alpha1.GivenBaseline {
	baseline, target := policy.Status.Baseline, policy.Status.Target
	if policy.DeletionTimestamp != nil || target == nil || baseline == nil || baseline.Source != v1alpha1.BaselinePromoted {
		return nil
	}
	proven, err := settings.FromAPI(baseline.Settings)
	if err != nil {
		return nil
	}
	footing, err := settings.FootingFromAPI(baseline.Footing)
	if err != nil {
		return nil
	}
	return &v1alpha1.GivenBaseline{
		Policy: rollout.PolicyLabel(policy.Name), Container: target.Container, Settings: proven.Variables(), Footing: footing.Variables(),
		PromotedAt: baseline.PromotedAt,
	}
}

// Record is what the next policy of the target may go on from. It is empty where the policy has nothing to tell.
func Record(policy *v1alpha1.RuntimeTuningPolicy) v1alpha1.RuntimeBaselineStatus {
	status := &policy.Status
	record := v1alpha1.RuntimeBaselineStatus{
		Trials: status.Trials, Rejected: status.Rejected, Calibration: status.Calibration, History: status.History,
	}
	if status.Target != nil {
		record.Container = status.Target.Container
	}
	if status.Baseline != nil && status.Baseline.Source == v1alpha1.BaselinePromoted {
		record.Baseline = status.Baseline
	}
	return record
}

// NewBaseline is the RuntimeBaseline of a target before anything is in it. It has no owner: it outlives policies, and a target that is deleted
// and created again.
func NewBaseline(namespace string, target v1alpha1.TargetReference) *v1alpha1.RuntimeBaseline {
	return &v1alpha1.RuntimeBaseline{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: BaselineName(target), Labels: map[string]string{"app.kubernetes.io/managed-by": "gopacer"},
		},
		Spec: v1alpha1.RuntimeBaselineSpec{TargetRef: target},
	}
}
