package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
)

// Policies is where the webhook finds policies.
type Policies interface {
	// ForTarget returns the policies that name a target. It may lag behind the API server.
	ForTarget(ctx context.Context, namespace string, target v1alpha1.TargetReference) ([]v1alpha1.RuntimeTuningPolicy, error)
	// Live returns a policy as the API server has it now.
	Live(ctx context.Context, name types.NamespacedName) (*v1alpha1.RuntimeTuningPolicy, error)
}

// targetNameField is the index over policies by the name of their target. The CRD declares the same selectable field.
const targetNameField = "spec.targetRef.name"

// IndexTargets prepares a cache to look up policies by target, for this package and for reconcilers.
func IndexTargets(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.RuntimeTuningPolicy{}, targetNameField, func(object client.Object) []string {
		return []string{object.(*v1alpha1.RuntimeTuningPolicy).Spec.TargetRef.Name}
	})
	if err != nil {
		return fmt.Errorf("index policies by %s: %w", targetNameField, err)
	}
	return nil
}

// ClusterPolicies finds policies in the cluster.
type ClusterPolicies struct {
	// Cache is a reader for which IndexTargets was called; Server asks the API server.
	Cache, Server client.Reader
}

var _ Policies = ClusterPolicies{}

// ForTarget implements Policies by the cache.
func (c ClusterPolicies) ForTarget(ctx context.Context, namespace string, target v1alpha1.TargetReference) ([]v1alpha1.RuntimeTuningPolicy, error) {
	var list v1alpha1.RuntimeTuningPolicyList
	if err := c.Cache.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{targetNameField: target.Name}); err != nil {
		return nil, fmt.Errorf("list the policies for %s %s/%s: %w", target.Kind, namespace, target.Name, err)
	}
	var policies []v1alpha1.RuntimeTuningPolicy
	for _, policy := range list.Items {
		if workload.SameTarget(policy.Spec.TargetRef, target) {
			policies = append(policies, policy)
		}
	}
	return policies, nil
}

// Live implements Policies by the API server.
func (c ClusterPolicies) Live(ctx context.Context, name types.NamespacedName) (*v1alpha1.RuntimeTuningPolicy, error) {
	var policy v1alpha1.RuntimeTuningPolicy
	if err := c.Server.Get(ctx, name, &policy); err != nil {
		return nil, fmt.Errorf("get policy %s from the API server: %w", name, err)
	}
	return &policy, nil
}
