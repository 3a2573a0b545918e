package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "tuning.gopacer.dev", Version: "v1alpha1"}

// SchemeBuilder is apimachinery's own, so that importing the API brings no client along.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the types of this package with a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &RuntimeTuningPolicy{}, &RuntimeTuningPolicyList{}, &RuntimeBaseline{}, &RuntimeBaselineList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
