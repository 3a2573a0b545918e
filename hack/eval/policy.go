package main

import (
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/verdict"
)

// tier is what a policy says of margins, as the manager resolves it: how much worse a canary may be, and what no margin is widened beyond.
type tier struct {
	margins map[v1alpha1.SignalName]float64
	most    float64
}

func tierOf(factor, most float64) tier {
	return tier{map[v1alpha1.SignalName]float64{
		v1alpha1.SignalRequestLatency: 0.03 * factor, v1alpha1.SignalTailLatency: 0.10 * factor, v1alpha1.SignalSlowRequests: 0.10 * factor,
		v1alpha1.SignalErrors: 0, v1alpha1.SignalCPUPerRequest: 0.02 * factor, v1alpha1.SignalStartupTime: 0.25 * factor,
	}, most}
}

// What a policy says by default.
var (
	standardTier, batchTier = tierOf(1, 0.10), tierOf(3, 0.25)
	standardGain            = verdict.Gain{Minimize: v1alpha1.MinimizeGCCPU, MinShare: 0.05, MinCPUShare: 0.01}
	standardBreaker         = verdict.Breaker{Share: 0.4, Length: time.Minute}
)

// harmful says that a trial was turned down for harm, not for want of gain, proof or data.
func harmful(reason string) bool {
	switch reason {
	case v1alpha1.ReasonHarmed, v1alpha1.ReasonLatencyBreached, v1alpha1.ReasonErrorsBreached, v1alpha1.ReasonQueryBreached, v1alpha1.ReasonOOMKilled,
		v1alpha1.ReasonRestarted, v1alpha1.ReasonNotReady, v1alpha1.ReasonLimiterEnabled, v1alpha1.ReasonThrashing, v1alpha1.ReasonMemoryNearLimit,
		v1alpha1.ReasonThrottled, v1alpha1.ReasonStartsSlowly, v1alpha1.ReasonBreakerTripped, v1alpha1.ReasonSharedBreach:
		return true
	}
	return false
}
