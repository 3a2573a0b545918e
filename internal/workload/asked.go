package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// checkAsked refuses a target whose container can't be given what the policy asks for, tries, or has promoted. What the policy leaves to the
// template is no matter, and what does not stand on the container as it is ends elsewhere.
func (o owner) checkAsked(policy *v1alpha1.RuntimeTuningPolicy, container *corev1.Container, now settings.Footing) *Refusal {
	for _, asked := range askedFor(policy, now) {
		if err := asked.settings.CheckAgainst(container); err != nil {
			return &Refusal{v1alpha1.ReasonUnmanageableEnv, fmt.Sprintf("%s: %v, or %s", o.called, err, asked.cure)}
		}
	}
	return nil
}

// asked are settings that a policy names, and how a person takes them back.
type asked struct {
	settings settings.Settings
	cure     string
}

// askedFor leaves out what can't be read: whoever goes by it says so.
func askedFor(policy *v1alpha1.RuntimeTuningPolicy, now settings.Footing) []asked {
	var all []asked
	if manual := policy.Spec.Strategy.Manual; manual != nil {
		for i, listed := range manual.Candidates {
			if candidate, err := settings.FromAPI(listed); err == nil {
				all = append(all, asked{candidate, fmt.Sprintf("leave it out of spec.strategy.manual.candidates[%d]", i)})
			}
		}
	}
	if policy.Spec.Approved != nil {
		if approved, err := settings.FromAPI(*policy.Spec.Approved); err == nil {
			all = append(all, asked{approved, "remove spec.approved"})
		}
	}
	if trial := policy.Status.Trial; trial != nil {
		if candidate, ok := settings.FromAPIOn(trial.Candidate, trial.Footing, now); ok {
			all = append(all, asked{candidate, "wait for the trial of it to be reverted"})
		}
	}
	if baseline := policy.Status.Baseline; baseline != nil && baseline.Source == v1alpha1.BaselinePromoted {
		if promoted, ok := settings.FromAPIOn(baseline.Settings, baseline.Footing, now); ok {
			all = append(all, asked{promoted, "delete this policy, which has promoted it"})
		}
	}
	return all
}
