//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/stage"
)

const (
	promotedGOGC = 100
	// baselinePolicy is what config/admissionpolicy calls the MutatingAdmissionPolicy and its binding.
	baselinePolicy = "gopacer-baseline"
)

// TestWithoutManager takes the manager away: it dies in the middle of a trial, it is away when pods are born, and it is uninstalled. It is
// the last test, for its file's name: what it uninstalls is not there any more for others.
func TestWithoutManager(t *testing.T) {
	s := play(t, "manager", stage.Workload{})
	tuned := declared()
	tuned.GOGC = promotedGOGC
	for _, one := range []struct {
		name string
		run  func(s *scene)
	}{
		{"Killed", func(s *scene) { s.killed() }},
		{"WebhookDown", func(s *scene) { s.webhookDown(tuned) }},
		{"Uninstalled", func(s *scene) { s.uninstalled() }},
	} {
		if !t.Run(one.name, func(t *testing.T) { one.run(s.in(t)) }) {
			return // the next one begins where this one ends
		}
	}
}

// killed kills the manager's process in the first step, and its pod in the waves. The next one goes on from the status alone.
func (s *scene) killed() {
	wanted := spec()
	wanted.Strategy = manual(promotedGOGC)
	wanted.Rollout.Steps = []v1alpha1.Step{step(1, hold), step(3, hold)}
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	s.awaitTrial("the first step to be judged", 1, endLimit, judged)
	s.killProcess()
	s.awaitTrial("the waves", 1, endLimit, inStage(v1alpha1.StagePromoting))
	s.killPod()
	record := s.awaitEnd(1, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted)

	tuned := s.checkPromoted(record)
	s.awaitPods(tuned, soonLimit)
	s.awaitGauge("go_gc_gogc_percent", promotedGOGC)
	s.watcher.settle(s.t.Context())
	transitions, restarts := s.watched.seen()
	want := []transition{{1, v1alpha1.StageCanary, 0}, {1, v1alpha1.StageCanary, 1}, {1, v1alpha1.StagePromoting, 1}}
	if !slices.Equal(transitions, want) || restarts > 0 {
		s.t.Errorf("I5 Resume: the trial went through %+v and began %d steps anew, want %+v", transitions, restarts, want)
	}
	if trials := s.policy().Status.Trials; trials != 1 {
		s.t.Errorf("I5 Resume: there were %d trials, want 1", trials)
	}
	s.checkTemplate()
}

// killProcess kills the manager without a word: it can neither finish what it does nor release its lease.
func (s *scene) killProcess() {
	s.t.Helper()
	pods, err := s.operatorPods(s.t.Context())
	if err != nil || len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 {
		s.t.Fatalf("find the manager: %v: %+v", err, pods)
	}
	_, container, _ := strings.Cut(pods[0].Status.ContainerStatuses[0].ContainerID, "://")
	processes, err := processesOf(container)
	if err != nil || len(processes) == 0 {
		s.t.Fatalf("find the processes of container %s: %v", container, err)
	}
	for _, process := range processes {
		if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
			s.t.Fatalf("kill process %d of the manager: %v", process, err)
		}
	}
}

// processesOf finds a container's processes by their control groups, which the runtime names after it.
func processesOf(container string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	var processes []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil || container == "" || !bytes.Contains(content, []byte(container)) {
			continue // a process that has ended meanwhile is none
		}
		process, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		processes = append(processes, process)
	}
	return processes, nil
}

// killPod takes the manager's pod from the API server at once, as a node that is gone does.
func (s *scene) killPod() {
	s.t.Helper()
	pods, err := s.operatorPods(s.t.Context())
	if err != nil || len(pods) != 1 {
		s.t.Fatalf("find the manager: %v: %+v", err, pods)
	}
	if err := s.client.Delete(s.t.Context(), &pods[0], client.GracePeriodSeconds(0)); err != nil {
		s.t.Fatal(err)
	}
}

// webhookDown has pods born while there is no webhook. The MutatingAdmissionPolicy gives them what was promoted. Without its binding, as on a cluster
// before Kubernetes 1.36, they start as declared, and are replaced when there is a webhook again.
func (s *scene) webhookDown(tuned settings.Settings) {
	ctx := s.t.Context()
	s.watched.pardon(true)
	if err := s.scaleOperator(ctx, 0); err != nil {
		s.t.Fatal(err)
	}
	s.await("the manager to be gone", soonLimit, func(ctx context.Context) error {
		pods, err := s.operatorPods(ctx)
		if err == nil && len(pods) > 0 {
			err = errors.New("it is still there")
		}
		return err
	})
	s.replaceTwo(tuned, tuned)
	s.withoutBinding(tuned, func() { s.replaceTwo(tuned, declared()) })
	s.watcher.settle(ctx)
	s.watched.pardon(false)
	if err := s.scaleOperator(ctx, 1); err != nil {
		s.t.Fatal(err)
	}
	s.awaitEvents(v1alpha1.EventPodRepaired)
	s.awaitPods(tuned, endLimit)
	s.awaitReason(v1alpha1.ReasonTuned, startLimit)
	s.checkTemplate()
}

// withoutBinding does something while no new pod is given anything by the MutatingAdmissionPolicy.
func (s *scene) withoutBinding(tuned settings.Settings, run func()) {
	s.t.Helper()
	ctx := s.t.Context()
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: baselinePolicy}}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
		s.t.Fatal(err)
	}
	if err := s.client.Delete(ctx, binding); err != nil {
		s.t.Fatal(err)
	}
	s.awaitBorn(declared())
	run()
	again := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: binding.Name, Labels: binding.Labels, Annotations: binding.Annotations}, Spec: binding.Spec,
	}
	if err := s.client.Create(ctx, again); err != nil {
		s.t.Fatal(err)
	}
	s.awaitBorn(tuned)
}

// awaitBorn waits until the API server, which hears of bindings a moment later, would have a new pod start so.
func (s *scene) awaitBorn(want settings.Settings) {
	s.t.Helper()
	s.await(fmt.Sprintf("new pods to start with %s", want.Canonical()), soonLimit, func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err != nil {
			return err
		}
		template := s.deployment().Spec.Template
		for i := range pods {
			if metav1.GetControllerOf(&pods[i]) == nil {
				continue
			}
			probe := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
			probe.Namespace, probe.GenerateName = pods[i].Namespace, pods[i].GenerateName
			probe.OwnerReferences = pods[i].OwnerReferences
			probe.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = pods[i].Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			if err := s.client.Create(ctx, probe, client.DryRunAll); err != nil {
				return err
			}
			running, err := settingsOf(probe)
			if err == nil && running != want {
				err = fmt.Errorf("they start with %s", running.Canonical())
			}
			return err
		}
		return errors.New("no pod has an owner")
	})
}

// replaceTwo deletes two pods, and wants their successors to start with what is said, and the others to stay tuned.
func (s *scene) replaceTwo(tuned, want settings.Settings) {
	s.t.Helper()
	pods, err := s.pods(s.t.Context())
	if err != nil || len(pods) < 2 {
		s.t.Fatalf("find pods to delete: %v, %d pods", err, len(pods))
	}
	before := map[types.UID]bool{}
	for i := range pods {
		before[pods[i].UID] = true
	}
	for i := range 2 {
		if err := s.client.Delete(s.t.Context(), &pods[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	s.await(fmt.Sprintf("two pods to be born with %s", want.Canonical()), soonLimit, func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err != nil {
			return err
		}
		born, others := 0, 0
		for i := range pods {
			running, err := settingsOf(&pods[i])
			switch {
			case err != nil || !isReady(&pods[i]):
			case !before[pods[i].UID] && running == want:
				born++
			case before[pods[i].UID] && running == tuned:
				others++
			}
		}
		if born != 2 || others != s.replicas-2 {
			return fmt.Errorf("%d ready pods were born so, and %d others are tuned, of %d", born, others, len(pods))
		}
		return nil
	})
}

// uninstalled takes gopacer away as its manual says. Nothing of it is left, and every pod runs what its template declares.
func (s *scene) uninstalled() {
	ctx := s.t.Context()
	policy := s.policy()
	if err := s.client.Delete(ctx, policy); err != nil {
		s.t.Fatal(err)
	}
	s.await("the policy to be gone", endLimit, s.gone(policy))
	s.awaitPods(declared(), soonLimit)
	s.watcher.settle(ctx)
	s.watcher.stop() // what it watches goes away
	if err := stage.UninstallOperator(ctx, s.kube); err != nil {
		s.t.Fatal(err)
	}
	s.awaitPods(declared(), soonLimit)
	s.checkTemplate()
	if deployment := s.deployment(); len(deployment.Finalizers) > 0 {
		s.t.Errorf("the Deployment has the finalizers %v", deployment.Finalizers)
	}
	s.checkGone()

	pods, err := s.pods(ctx)
	if err != nil || len(pods) == 0 {
		s.t.Fatalf("find a pod to delete: %v", err)
	}
	if err := s.client.Delete(ctx, &pods[0]); err != nil {
		s.t.Fatal(err)
	}
	s.awaitPods(declared(), soonLimit)
}

// checkGone wants nothing of gopacer in the cluster.
func (s *scene) checkGone() {
	s.t.Helper()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	for _, object := range []client.Object{
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: named("gopacer-pods")},
		&admissionv1.MutatingAdmissionPolicy{ObjectMeta: named(baselinePolicy)},
		&admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: named(baselinePolicy)},
		&corev1.Namespace{ObjectMeta: named(stage.OperatorNamespace)},
	} {
		s.await(fmt.Sprintf("%T %s to be gone", object, object.GetName()), soonLimit, s.gone(object))
	}
	var roles rbacv1.ClusterRoleList
	var bindings rbacv1.ClusterRoleBindingList
	for _, list := range []client.ObjectList{&roles, &bindings} {
		if err := s.client.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, role := range roles.Items {
		if strings.Contains(role.Name, "gopacer") {
			s.t.Errorf("ClusterRole %s is left", role.Name)
		}
	}
	for _, binding := range bindings.Items {
		if strings.Contains(binding.Name, "gopacer") {
			s.t.Errorf("ClusterRoleBinding %s is left", binding.Name)
		}
	}
	groups, err := s.kube.Run(s.t.Context(), "", "get", "customresourcedefinitions", "--output", "name")
	if err != nil || strings.Contains(groups, "gopacer") {
		s.t.Errorf("custom resource definitions are %q, %v; want none of gopacer", groups, err)
	}
}
