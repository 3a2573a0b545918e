package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Service is how the target's processes behave, and what is shown of them.
type Service struct {
	// Declared is the GOGC of the pod template, in whose terms costs are meant.
	Declared int
	// Gain is false where a higher GOGC saves nothing.
	NoGain bool
	// Harm is what happens to processes that run Harmful; HarmAll says that it happens to all.
	Harm    Harm
	Harmful string
	HarmAll bool
	// Shown is what is wrong with what Prometheus shows.
	Shown Shown
}

// Harm is one thing that goes wrong with processes.
type Harm string

// The harms.
const (
	NoHarm       Harm = ""
	Slow         Harm = "slow"
	Errors       Harm = "errors"
	Breaker      Harm = "breaker"
	OOM          Harm = "oom"
	Crashes      Harm = "crashes"
	NeverReady   Harm = "never ready"
	LateUnready  Harm = "late unready"
	Limiter      Harm = "limiter"
	NearLimit    Harm = "near limit"
	StartsSlowly Harm = "starts slowly"
	Overridden   Harm = "overridden"
	Costly       Harm = "costly"
	FewRequests  Harm = "few requests"
	FewCycles    Harm = "few cycles"
	Throttled    Harm = "throttled"
	Thrashing    Harm = "thrashing"
	Uneven       Harm = "uneven"
	BadQuery     Harm = "bad query"
)

// Harms are all of them.
var Harms = []Harm{
	Slow, Errors, Breaker, OOM, Crashes, NeverReady, LateUnready, Limiter, NearLimit, StartsSlowly, Overridden, Costly, FewRequests, FewCycles, Throttled,
	Thrashing, Uneven, BadQuery,
}

// EnvOf is the value of a variable in a pod's first container.
func EnvOf(pod *corev1.Pod, name string) string {
	for _, variable := range pod.Spec.Containers[0].Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}

// harmOf a pod's process.
func (s *Service) harmOf(pod *corev1.Pod) Harm {
	if s.HarmAll || s.Harmful != "" && EnvOf(pod, "GOGC") == s.Harmful {
		return s.Harm
	}
	return NoHarm
}

func (s *Service) startsLater(pod *corev1.Pod) time.Duration {
	if s.harmOf(pod) == StartsSlowly {
		return 25 * time.Second
	}
	return 0
}

func (s *Service) neverReady(pod *corev1.Pod) bool { return s.harmOf(pod) == NeverReady }

// crashes says when and why a container ends after its start.
func (s *Service) crashes(pod *corev1.Pod, restarts int32) (time.Duration, string) {
	switch s.harmOf(pod) {
	case OOM:
		return 20 * time.Second, "OOMKilled"
	case Crashes:
		if restarts < 3 {
			return 15 * time.Second, "Error"
		}
	}
	return 0, ""
}
