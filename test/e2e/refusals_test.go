//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

// refusal is a policy that can't work, on a Deployment of its own.
type refusal struct {
	name string
	// env of the Deployment's container; nil where there is no Deployment.
	env []corev1.EnvVar
	// containers is how many the pods have.
	containers int
	change     func(spec *v1alpha1.RuntimeTuningPolicySpec)
	reason     string
	// cure is a part of the message that says what to change.
	cure string
}

func variable(name, value string) []corev1.EnvVar { return []corev1.EnvVar{{Name: name, Value: value}} }

func refusals() []refusal {
	recommend := func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Mode = v1alpha1.ModeRecommend }
	fromConfigMap := []corev1.EnvVar{{Name: "GOGC", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "gogc", Optional: ptr.To(true),
	}}}}
	return []refusal{
		{name: "target", reason: v1alpha1.ReasonTargetNotFound, cure: "create it"},
		{name: "container", env: variable("GOGC", "25"), reason: v1alpha1.ReasonContainerNotFound, cure: "spec.container",
			change: func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Container = "absent" }},
		{name: "containers", env: variable("GOGC", "25"), containers: 2, reason: v1alpha1.ReasonContainerAmbiguous, cure: "spec.container"},
		{name: "provider", env: variable("GOGC", "25"), reason: v1alpha1.ReasonProviderNotFound, cure: "absent",
			change: func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Metrics.Provider = "absent" }},
		{name: "value-from", env: fromConfigMap, reason: v1alpha1.ReasonUnmanageableEnv, cure: "plain value"},
		{name: "twice", env: append(variable("GOGC", "25"), variable("GOGC", "50")...), reason: v1alpha1.ReasonUnmanageableEnv, cure: "remove one"},
		{name: "one-replica", env: variable("GOGC", "25"), reason: v1alpha1.ReasonTooFewReplicas, cure: "at least 2",
			change: func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Rollout.Replacement = v1alpha1.ReplacementEvict }},
		{name: "runtime-metrics", env: variable("NO_RUNTIME_METRICS", "1"), change: recommend,
			reason: v1alpha1.ReasonSignalUnavailable, cure: "WithGoCollectorRuntimeMetrics"},
		{name: "go-metrics", env: variable("NO_GO_METRICS", "1"), change: recommend, reason: v1alpha1.ReasonSignalUnavailable, cure: "NewGoCollector"},
		{name: "histogram", env: variable("GOGC", "25"), reason: v1alpha1.ReasonSLOUnmeasured, cure: "spec.metrics.latency",
			change: func(spec *v1alpha1.RuntimeTuningPolicySpec) {
				recommend(spec)
				spec.Metrics.Latency = v1alpha1.LatencySource{Histogram: "absent_seconds", CodeLabel: "code"}
			}},
	}
}

// badInput has policies that can't work: each says why and what to change, and no pod is touched.
func badInput(t *testing.T) {
	s := open(t, "refusals")
	s.watched.protect()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for _, one := range refusals() {
		if one.env != nil {
			s.mustCreate(s.plain(one))
		}
		s.mustCreate(s.refused(one))
	}
	before := s.allPods()
	for _, one := range refusals() {
		s.await(fmt.Sprintf("policy %s to be refused", one.name), startLimit, s.isRefused(one))
	}
	younger := s.refused(refusals()[0])
	younger.Name, younger.Spec.TargetRef.Name = "younger", "one-replica"
	s.mustCreate(younger)
	s.await("the younger of two policies to be refused", soonLimit, s.isRefused(refusal{name: "younger", reason: v1alpha1.ReasonConflicted, cure: "delete one"}))
	s.checkSame(before)
}

func (s *scene) mustCreate(object client.Object) {
	s.t.Helper()
	if err := s.client.Create(s.t.Context(), object); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) refused(one refusal) *v1alpha1.RuntimeTuningPolicy {
	policy := &v1alpha1.RuntimeTuningPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: one.name}, Spec: spec()}
	policy.Spec.TargetRef.Name = one.name
	if one.change != nil {
		one.change(&policy.Spec)
	}
	return policy
}

// isRefused checks what a policy says, and that nothing was begun that would have to be undone.
func (s *scene) isRefused(one refusal) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		var policy v1alpha1.RuntimeTuningPolicy
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: one.name}, &policy); err != nil {
			return err
		}
		ready := readyOf(&policy)
		stalled := meta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionStalled)
		if ready.Reason != one.reason || ready.Status != metav1.ConditionFalse || !stalled || !strings.Contains(ready.Message, one.cure) {
			return fmt.Errorf("ready is %s, %s: %q, and stalled is %t; want %s with %q", ready.Status, ready.Reason, ready.Message, stalled, one.reason, one.cure)
		}
		if policy.Status.Trial != nil || policy.Status.Trials != 0 || len(policy.Finalizers) > 0 {
			return fmt.Errorf("trial %+v, %d trials, finalizers %v; want none", policy.Status.Trial, policy.Status.Trials, policy.Finalizers)
		}
		return nil
	}
}

// plain is a Deployment of one pod of the service under test.
func (s *scene) plain(one refusal) *appsv1.Deployment {
	labels := map[string]string{"app": one.name}
	pod := corev1.PodSpec{AutomountServiceAccountToken: ptr.To(false)}
	for i := range max(one.containers, 1) {
		port := int32(8080 + i)
		container := corev1.Container{
			Name: fmt.Sprintf("%s-%d", stage.WorkloadDeployment, i), Image: s.images.Workload.Name, ImagePullPolicy: corev1.PullNever,
			Env:   append([]corev1.EnvVar{{Name: "LIVE_HEAP_MB", Value: "4"}, {Name: "LISTEN", Value: fmt.Sprintf(":%d", port)}}, one.env...),
			Ports: []corev1.ContainerPort{{Name: fmt.Sprintf("http-%d", i), ContainerPort: port}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(port)},
			}},
		}
		pod.Containers = append(pod.Containers, container)
	}
	annotations := map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: one.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: pod},
		},
	}
}

// allPods are the UIDs of the namespace's pods, by name, once there is one of each Deployment.
func (s *scene) allPods() map[string]string {
	s.t.Helper()
	wanted := 0
	for _, one := range refusals() {
		if one.env != nil {
			wanted++
		}
	}
	ids := map[string]string{}
	s.await("the pods to be there", soonLimit, func(ctx context.Context) error {
		clear(ids)
		var pods corev1.PodList
		if err := s.client.List(ctx, &pods, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			ids[pod.Name] = string(pod.UID)
		}
		if len(ids) != wanted {
			return fmt.Errorf("there are %d pods, want %d", len(ids), wanted)
		}
		return nil
	})
	return ids
}

func (s *scene) checkSame(before map[string]string) {
	s.t.Helper()
	for name, id := range s.allPods() {
		if before[name] != id {
			s.t.Errorf("pod %s is another than before", name)
		}
	}
}
