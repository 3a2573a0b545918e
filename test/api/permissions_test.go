package api_test

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// request is what somebody wants to do to group/resource/subresource name, in a namespace or cluster-wide.
type request struct {
	verb, group, resource, subresource, namespace, name string
}

// testPermissions asks the API server what the manager may do: all that it needs, and nothing that would be worse than needed.
func testPermissions(t *testing.T) {
	const policies, system = "tuning.gopacer.dev", systemNamespace
	cases := []struct {
		allowed  bool
		requests []request
	}{
		{true, verbs("get list watch update patch", request{group: policies, resource: "runtimetuningpolicies"})},
		{true, verbs("get update patch", request{group: policies, resource: "runtimetuningpolicies", subresource: "status"})},
		{true, verbs("get list watch create update delete", request{group: policies, resource: "runtimebaselines"})},
		{true, verbs("update", request{group: policies, resource: "runtimebaselines", subresource: "status"})},
		{true, verbs("get list watch", request{group: "apps", resource: "deployments"})},
		{true, verbs("get list watch", request{group: "apps", resource: "replicasets"})},
		{true, verbs("get list watch", request{group: "apps", resource: "statefulsets"})},
		{true, verbs("get list watch", request{group: "apps", resource: "daemonsets"})},
		{true, verbs("list", request{group: "apps", resource: "controllerrevisions"})},
		{true, verbs("get", request{group: "argoproj.io", resource: "rollouts", namespace: namespace})},
		{true, verbs("get", request{group: "example.com", resource: "fleets", subresource: "scale", namespace: namespace})},
		{true, verbs("get list watch patch delete", request{resource: "pods"})},
		{true, verbs("list watch", request{resource: "resourcequotas"})},
		{true, verbs("get", request{resource: "persistentvolumeclaims", namespace: namespace})},
		{true, verbs("create", request{resource: "pods", subresource: "eviction", namespace: namespace})},
		{true, verbs("create patch", request{resource: "events", namespace: namespace})},
		{true, verbs("create patch", request{group: "events.k8s.io", resource: "events", namespace: namespace})},
		{true, verbs("list watch", request{group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations"})},
		{true, verbs("get update", request{group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations", name: "gopacer-pods"})},
		{true, verbs("get create update", request{group: "coordination.k8s.io", resource: "leases", namespace: system, name: "gopacer"})},
		{true, verbs("list watch", request{resource: "secrets", namespace: system})},
		{true, verbs("list", request{group: "discovery.k8s.io", resource: "endpointslices", namespace: system})},
		{true, verbs("get update", request{resource: "secrets", namespace: system, name: "gopacer-webhook-cert"})},

		{false, verbs("create delete deletecollection", request{group: policies, resource: "runtimetuningpolicies", namespace: namespace})},
		{false, verbs("patch deletecollection", request{group: policies, resource: "runtimebaselines", namespace: namespace})},
		{false, verbs("create update patch delete", request{group: "apps", resource: "deployments", namespace: namespace})},
		{false, verbs("create update patch delete", request{group: "apps", resource: "replicasets", namespace: namespace})},
		{false, verbs("create update patch delete", request{group: "apps", resource: "statefulsets", namespace: namespace})},
		{false, verbs("create update patch delete", request{group: "apps", resource: "daemonsets", namespace: namespace})},
		{false, verbs("create update patch delete", request{group: "apps", resource: "controllerrevisions", namespace: namespace})},
		{false, verbs("list watch update patch", request{group: "argoproj.io", resource: "rollouts", namespace: namespace})},
		{false, verbs("update patch", request{group: "apps", resource: "deployments", subresource: "scale", namespace: namespace})},
		{false, verbs("create update deletecollection", request{resource: "pods", namespace: namespace})},
		{false, verbs("create", request{resource: "pods", subresource: "exec", namespace: namespace})},
		{false, verbs("get list watch update", request{resource: "secrets", namespace: namespace})},
		{false, verbs("create delete", request{resource: "secrets", namespace: system})},
		{false, verbs("list", request{group: "discovery.k8s.io", resource: "endpointslices", namespace: namespace})},
		{false, verbs("get update", request{resource: "secrets", namespace: system, name: "another"})},
		{false, verbs("update", request{group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations", name: "another"})},
		{false, verbs("get update", request{group: "coordination.k8s.io", resource: "leases", namespace: "kube-system", name: "gopacer"})},
		{false, verbs("get update", request{group: "coordination.k8s.io", resource: "leases", namespace: system, name: "another"})},
		{false, verbs("update patch", request{group: "apiextensions.k8s.io", resource: "customresourcedefinitions"})},
	}
	for _, tc := range cases {
		for _, wanted := range tc.requests {
			if got := may(t, wanted); got != tc.allowed {
				t.Errorf("%s: allowed %t, want %t", wanted, got, tc.allowed)
			}
		}
	}
}

func (r request) String() string {
	return fmt.Sprintf("%s %s/%s/%s %q in %q", r.verb, r.group, r.resource, r.subresource, r.name, r.namespace)
}

// verbs repeats a request with each of the verbs.
func verbs(list string, of request) []request {
	var requests []request
	for _, verb := range strings.Fields(list) {
		of.verb = verb
		requests = append(requests, of)
	}
	return requests
}

func may(t *testing.T, wanted request) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + systemNamespace + ":gopacer",
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: wanted.verb, Group: wanted.group, Resource: wanted.resource, Subresource: wanted.subresource,
			Namespace: wanted.namespace, Name: wanted.name,
		},
	}}
	if err := cluster.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
