package proof

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

const declaredGOGC = 25

// scenario is what a seed begins with.
type scenario struct {
	habits     cluster.Habits
	service    cluster.Service
	replicas   int32
	surge      intstr.IntOrString
	down       intstr.IntOrString
	recreate   bool
	webhooks   int
	lateEvents float64
	// faults is how likely each call goes wrong in the busy time, which lasts so long.
	faults float64
	busy   time.Duration
	// deeds are how many things people do, and troubles how many the cluster has, in the busy time.
	deeds, troubles int
	// budget is what a PodDisruptionBudget allows; nil for none.
	budget *intstr.IntOrString
	policy *v1alpha1.RuntimeTuningPolicy
}

// newScenario draws one. A plain one is the same each time: a trial in which nothing goes wrong.
func newScenario(random *rand.Rand, plain bool) scenario {
	s := scenario{
		habits: cluster.Usual(), service: cluster.Service{Declared: declaredGOGC}, replicas: 6, surge: intstr.FromInt32(1), down: intstr.FromInt32(0),
		webhooks: 2, busy: 12 * time.Minute, policy: newPolicy(),
	}
	if plain {
		return s
	}
	chance := func(p float64) bool { return random.Float64() < p }
	s.drawTarget(random, chance)
	s.drawPolicy(random, chance)
	s.drawWeather(random, chance)
	if chance(0.45) {
		harm := cluster.Harms[random.IntN(len(cluster.Harms))]
		s.service.Harm, s.service.Harmful = harm, candidateGOGC(s.policy)
		s.service.HarmAll = chance(0.08)
	}
	s.service.NoGain = chance(0.08)
	return s
}

// candidateGOGC is the first candidate of a policy; Feedback's first step is not known before.
func candidateGOGC(policy *v1alpha1.RuntimeTuningPolicy) string {
	if policy.Spec.Strategy.Manual == nil {
		return "50"
	}
	return policy.Spec.Strategy.Manual.Candidates[0].GOGC.String()
}

func (s *scenario) drawTarget(random *rand.Rand, chance func(float64) bool) {
	s.replicas = int32(6 + random.IntN(5))
	if chance(0.12) {
		s.replicas = int32(1 + random.IntN(5))
	}
	s.recreate = chance(0.05)
	if chance(0.3) {
		s.surge, s.down = intstr.FromString("25%"), intstr.FromString("25%")
	}
	if chance(0.1) {
		s.surge, s.down = intstr.FromInt32(0), intstr.FromInt32(1)
	}
	if chance(0.25) {
		s.budget = ptr.To(intstr.FromInt32(max(0, s.replicas-int32(random.IntN(3)))))
	}
}

func (s *scenario) drawWeather(random *rand.Rand, chance func(float64) bool) {
	s.webhooks = 1 + random.IntN(3)
	if chance(0.4) {
		s.habits.Late = 0.2
	}
	if chance(0.3) {
		s.habits.Ready = [2]time.Duration{2 * time.Second, 40 * time.Second}
		s.habits.Grace = [2]time.Duration{time.Second, 25 * time.Second}
	}
	if chance(0.6) {
		s.faults = []float64{0.002, 0.01, 0.03, 0.1}[random.IntN(4)]
	}
	if chance(0.5) {
		s.lateEvents = 0.1
	}
	s.busy = time.Duration(8+random.IntN(12)) * time.Minute
	s.deeds, s.troubles = random.IntN(4), random.IntN(4)
}

func (s *scenario) drawPolicy(random *rand.Rand, chance func(float64) bool) {
	spec := &s.policy.Spec
	if chance(0.5) {
		last := spec.Rollout.Steps[0]
		spec.Rollout.Steps = []v1alpha1.Step{{Canary: intstr.FromInt32(1), Hold: last.Hold}, {Canary: intstr.FromString("25%"), Hold: last.Hold}, last}
	}
	if chance(0.3) {
		spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(int32(1 + random.IntN(3))))
	}
	if chance(0.5) {
		spec.Rollout.Replacement = v1alpha1.ReplacementSurge
	}
	spec.Analysis.GoodWindows = int32(1 + random.IntN(3))
	switch {
	case chance(0.12):
		spec.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategyFeedback}
	case chance(0.10):
		spec.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategySweep, Sweep: &v1alpha1.SweepStrategy{Ladder: []int32{25, 50, 100}}}
	case chance(0.05):
		spec.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate}
	case chance(0.4):
		spec.Strategy.Manual.Candidates = append(spec.Strategy.Manual.Candidates, gogc(100))
	}
	if chance(0.3) {
		spec.DeletionPolicy = v1alpha1.DeletionKeep
	}
	if chance(0.3) {
		spec.SLOs = append(spec.SLOs, v1alpha1.SLO{Name: "queue", Query: &v1alpha1.QuerySLO{PromQL: "sum by (pod) (queue_length)", Max: "10"}})
	}
}

// room is how many pods more than its budget asks for a target needs, so that they can be replaced: a surge brings its own, where the Deployment
// allows one.
func (s *scenario) room() int32 {
	if s.policy.Spec.Rollout.Replacement == v1alpha1.ReplacementSurge && s.surge != intstr.FromInt32(0) && !s.recreate {
		return 0
	}
	return 1
}

func gogc(value int32) v1alpha1.RuntimeSettings {
	return settings.Settings{GOGC: settings.GOGC(value)}.API()
}

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// newPolicy is complete: nothing fills in defaults.
func newPolicy() *v1alpha1.RuntimeTuningPolicy {
	return &v1alpha1.RuntimeTuningPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: policyName},
		Spec: v1alpha1.RuntimeTuningPolicySpec{
			TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: targetName}, Mode: v1alpha1.ModeAuto,
			SLOs: []v1alpha1.SLO{
				{Name: "latency", Latency: &v1alpha1.LatencySLO{Threshold: metav1.Duration{Duration: 100 * time.Millisecond}, Target: "99%"}},
				{Name: "errors", Errors: &v1alpha1.ErrorsSLO{Max: "1%"}},
			},
			Analysis: v1alpha1.Analysis{
				Interval: seconds(10), WarmUp: seconds(20), NoDataTimeout: seconds(60), GoodWindows: 1,
				Breaker: v1alpha1.Breaker{Errors: "40%", For: seconds(20)},
			},
			Rollout: v1alpha1.Rollout{
				Steps: []v1alpha1.Step{{Canary: intstr.FromInt32(3), Hold: seconds(20)}}, MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				Replacement: v1alpha1.ReplacementEvict, Promotion: v1alpha1.Promotion{By: v1alpha1.PromotionAutomatic, As: v1alpha1.PromotionWaves},
			},
			Schedule: v1alpha1.Schedule{Cooldown: seconds(180)},
			Suspend:  v1alpha1.SuspendNone, DeletionPolicy: v1alpha1.DeletionRestore, Metrics: v1alpha1.Metrics{Provider: "default"},
			Knobs: v1alpha1.Knobs{
				GOGC:       v1alpha1.GOGCKnob{Mode: v1alpha1.KnobTune},
				GOMEMLIMIT: v1alpha1.GOMEMLIMITKnob{Mode: v1alpha1.KnobTune, PercentOfLimit: "90%"},
			},
			Objective: v1alpha1.Objective{Minimize: v1alpha1.MinimizeGCCPU, MinGain: "5%"},
			Strategy:  v1alpha1.Strategy{Type: v1alpha1.StrategyManual, Manual: &v1alpha1.ManualStrategy{Candidates: []v1alpha1.RuntimeSettings{gogc(50)}}},
		},
	}
}
