// Package v1alpha1 holds the RuntimeTuningPolicy API: what a platform team asks of gopacer, and what gopacer says of it.
//
// +kubebuilder:object:generate=true
// +groupName=tuning.gopacer.dev
package v1alpha1
