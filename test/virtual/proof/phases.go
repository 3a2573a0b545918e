package proof

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

func (r *run) must(err error) {
	if err != nil {
		panic(err) // nobody disturbs people
	}
}

// prepare brings a target and its policy up.
func (r *run) prepare() {
	if r.Sabotage.Admission > 0 {
		r.cluster.Admission = [2]time.Duration{0, r.Sabotage.Admission}
	}
	r.startWebhooks()
	r.must(r.people.Create(r.ctx, r.deployment()))
	if r.scenario.budget != nil {
		r.must(r.people.Create(r.ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "budget"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: r.scenario.budget, Selector: &metav1.LabelSelector{MatchLabels: targetLabels()}},
		}))
	}
	r.startManager()
	r.cluster.Run(10 * time.Second)
	r.must(r.people.Create(r.ctx, r.scenario.policy.DeepCopy()))
}

func targetLabels() map[string]string { return map[string]string{"app": targetName} }

func (r *run) deployment() *appsv1.Deployment {
	strategy := appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &r.scenario.surge, MaxUnavailable: &r.scenario.down},
	}
	if r.scenario.recreate {
		strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: targetName},
		Spec: appsv1.DeploymentSpec{
			Replicas: &r.scenario.replicas, Selector: &metav1.LabelSelector{MatchLabels: targetLabels()}, Strategy: strategy,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: targetLabels()},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "app", Image: "app:1", Env: []corev1.EnvVar{{Name: "PORT", Value: "80"}, {Name: "GOGC", Value: strconv.Itoa(declaredGOGC)}},
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}},
				}}},
			},
		},
	}
}

// disturb lets trials run while everything happens.
func (r *run) disturb() {
	begin := r.cluster.Now()
	r.busy, r.weather.faults = true, r.scenario.faults
	for range r.scenario.deeds {
		deed := deeds[r.random.IntN(len(deeds))]
		r.cluster.After(r.between(0, r.scenario.busy), func() { r.do(deed) })
	}
	for range r.scenario.troubles {
		trouble := troubles[r.random.IntN(len(troubles))]
		r.cluster.After(r.between(0, r.scenario.busy), func() { r.strike(trouble) })
	}
	until := begin.Add(r.scenario.busy)
	for r.cluster.Now().Before(until) && !r.cluster.Exhausted() && !(r.Strike != nil && r.hasEnded()) {
		r.cluster.Run(look)
	}
}

// hasEnded says that a trial has.
func (r *run) hasEnded() bool {
	policy := r.policy()
	return policy != nil && policy.Status.Trial == nil && len(policy.Status.History) > 0
}

func (r *run) do(deed deed) {
	if r.busy {
		r.count(deed.name)
		r.tell("people: %s", deed.name)
		deed.do(r)
	}
}

func (r *run) strike(trouble deed) {
	if r.busy {
		r.count(trouble.name)
		r.tell("trouble: %s", trouble.name)
		trouble.do(r)
	}
}

// calm ends all that would last.
func (r *run) calm() {
	r.tell("calm")
	r.busy, r.weather = false, weather{}
	r.cluster.Trouble.NoRoom, r.cluster.Trouble.NeverReady, r.cluster.Trouble.Stuck, r.cluster.Trouble.NoQuota = false, false, false, false
	for _, node := range []string{"node-0", "node-1", "node-2", "node-3", "node-4"} {
		r.cluster.Recover(node)
	}
	for _, w := range r.webhooks {
		w.lag, w.unreachable = 0, false
	}
	service := &r.cluster.Service
	service.Shown = cluster.Honest
	// What the traffic does is no harm of the candidate's, which is tried again and again for as long as that lasts.
	passing := service.HarmAll || service.Harm == cluster.FewRequests || service.Harm == cluster.Uneven
	if target := r.target(); passing || target != nil && gogcOf(target) == service.Harmful {
		service.HarmAll, service.Harm = false, cluster.NoHarm
	}
	if r.policy() != nil {
		r.edit(func(policy *v1alpha1.RuntimeTuningPolicy) {
			policy.Spec.Suspend, policy.Spec.Mode = v1alpha1.SuspendNone, v1alpha1.ModeAuto
		})
	}
	r.editTarget(func(deployment *appsv1.Deployment) {
		deployment.Spec.Paused = false
		if *deployment.Spec.Replicas < 2 && r.scenario.replicas > 1 {
			deployment.Spec.Replicas = &r.scenario.replicas
		}
		// A budget that allows nothing at all is asked again for ever, and told as EvictionBlocked: here a person makes room for one pod.
		if budget := r.scenario.budget; budget != nil && *deployment.Spec.Replicas <= budget.IntVal {
			deployment.Spec.Replicas = ptr.To(budget.IntVal + r.scenario.room())
		}
	})
	if len(r.living()) == 0 {
		r.startManager()
	}
}

// gogcOf a Deployment's template.
func gogcOf(deployment *appsv1.Deployment) string {
	for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
		if variable.Name == "GOGC" {
			return variable.Value
		}
	}
	return ""
}

const (
	// mostSettling is when a calm world must have come to rest: the last trials, with cooldowns that doubled.
	mostSettling = 6 * time.Hour
	// quietFor is how long nothing may be written then.
	quietFor = 25 * time.Minute
	look     = time.Minute
	// struckQuietFor is enough where one fault struck one call.
	struckQuietFor = 4 * time.Minute
)

// settle waits until nobody writes any more, and looks at what is left.
func (r *run) settle() {
	begin := r.cluster.Now()
	quiet := quietFor
	if r.Strike != nil {
		quiet = struckQuietFor
	}
	for r.cluster.Now().Sub(r.witness.latestWrite) < quiet && !r.witness.reported[r.Until] {
		if r.cluster.Exhausted() {
			r.witness.violate("I9", "too much happens; the latest write is %s", r.witness.latestWhat)
			return
		}
		if r.cluster.Now().Sub(begin) > mostSettling {
			r.witness.violate("I9", "the world is calm for %s, and gopacer still writes: %s", mostSettling, r.witness.latestWhat)
			return
		}
		r.cluster.Run(look)
	}
	r.witness.atRest()
}
