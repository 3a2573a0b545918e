package controllers

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

const (
	// minCPUGain is the least share of all CPU time that a candidate must save: below it nobody notices.
	minCPUGain = 0.01
	// defaultMinGOGC and defaultMaxGOGC bound Feedback where a policy does not.
	defaultMinGOGC = 25
	defaultMaxGOGC = 200
	// The rules of Feedback where a policy does not set them.
	defaultLongPause            = 5 * time.Millisecond
	defaultRunnablePerProcessor = 2
	defaultQuotaUse             = v1alpha1.Percent("80%")
)

// settleTuning resolves where candidates come from, and what they must gain.
func (p *plan) settleTuning(spec *v1alpha1.RuntimeTuningPolicySpec) error {
	var err error
	if p.knobs, err = knobs(spec.Knobs); err != nil {
		return err
	}
	if p.rules, err = rules(spec.Strategy.Feedback); err != nil {
		return err
	}
	if p.strategy, err = strategy(spec.Strategy); err != nil {
		return err
	}
	gain, err := share(spec.Objective.MinGain)
	if err != nil {
		return fmt.Errorf("spec.objective.minGain: %w", err)
	}
	minimize := cmp.Or(spec.Objective.Minimize, v1alpha1.MinimizeGCCPU)
	p.Gain = verdict.Gain{Minimize: minimize, MinShare: gain, MinCPUShare: minCPUGain}
	p.objective = tuning.Objective{Minimize: minimize, MinGain: gain, MinCPUGain: minCPUGain}
	return nil
}

func knobs(spec v1alpha1.Knobs) (tuning.Knobs, error) {
	limit, err := share(spec.GOMEMLIMIT.PercentOfLimit)
	if err != nil {
		return tuning.Knobs{}, fmt.Errorf("spec.knobs.gomemlimit.percentOfLimit: %w", err)
	}
	return tuning.Knobs{
		TuneGOGC: spec.GOGC.Mode == v1alpha1.KnobTune,
		MinGOGC:  settings.GOGC(cmp.Or(spec.GOGC.Min, defaultMinGOGC)), MaxGOGC: settings.GOGC(cmp.Or(spec.GOGC.Max, defaultMaxGOGC)),
		ExplicitMin: settings.GOGC(spec.GOGC.Min), ExplicitMax: settings.GOGC(spec.GOGC.Max),
		TuneMemoryLimit: spec.GOMEMLIMIT.Mode == v1alpha1.KnobTune, MemoryLimitShare: limit,
		TuneProcessors: spec.GOMAXPROCS.Mode == v1alpha1.KnobTune, MaxProcessors: spec.GOMAXPROCS.Max,
	}, nil
}

func rules(spec v1alpha1.FeedbackRules) (tuning.Rules, error) {
	use, err := share(cmp.Or(spec.QuotaUse, defaultQuotaUse))
	if err != nil {
		return tuning.Rules{}, fmt.Errorf("spec.strategy.feedback.quotaUse: %w", err)
	}
	return tuning.Rules{
		LongPauseSeconds:     cmp.Or(duration(spec.LongPause), defaultLongPause).Seconds(),
		RunnablePerProcessor: float64(cmp.Or(spec.RunnablePerProcessor, defaultRunnablePerProcessor)),
		QuotaUse:             use,
	}, nil
}

func strategy(spec v1alpha1.Strategy) (tuning.Strategy, error) {
	if (spec.Type == v1alpha1.StrategyManual) != (spec.Manual != nil) {
		return tuning.Strategy{}, errors.New("spec.strategy: set manual if, and only if, type is Manual")
	}
	resolved := tuning.Strategy{Type: spec.Type}
	if spec.Sweep != nil {
		resolved.Ladder = spec.Sweep.Ladder // without one the strategy has its own
	}
	if spec.Manual == nil {
		return resolved, nil
	}
	for i, candidate := range spec.Manual.Candidates {
		parsed, err := settings.FromAPI(candidate)
		if err != nil {
			return tuning.Strategy{}, fmt.Errorf("spec.strategy.manual.candidates[%d]: %w", i, err)
		}
		resolved.Manual = append(resolved.Manual, parsed)
	}
	return resolved, nil
}
