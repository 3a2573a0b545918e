package verdict

import (
	"math"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// minSpreadPods below which nobody can say how unlike pods are.
const minSpreadPods = 3

// Spreads gives the standard deviation from pod to pod, relative, of each signal that can be compared, for pods that all run the same settings.
// What the counts of rare requests make of it is taken out, since more requests would: the variance of a logarithm of k counted requests is
// about 1/k. A signal that is not measured on every pod is left out, and so is everything with fewer than three pods. Nodes are not told apart.
func Spreads(window *signal.Window, members []Member) []v1alpha1.Spread {
	if window == nil || len(members) < minSpreadPods {
		return nil
	}
	pods := podsOf(window, members)
	edge := tailEdge(pods)
	sources := []struct {
		signal     v1alpha1.SignalName
		ofRequests bool
		read       func(*signal.Pod) reading
	}{
		{v1alpha1.SignalRequestLatency, false, func(p *signal.Pod) reading { return ratio(p.RequestSeconds, p.Requests) }},
		{v1alpha1.SignalTailLatency, true, func(p *signal.Pod) reading { return shiftedShare(p, edge, scarceTail) }},
		{v1alpha1.SignalErrors, true, failedShare},
		{v1alpha1.SignalCPUPerRequest, false, func(p *signal.Pod) reading { return ratio(p.CPUSeconds, p.Requests) }},
		{v1alpha1.SignalGCCPUPerRequest, false, func(p *signal.Pod) reading { return ratio(p.GCCPUSeconds, p.Requests) }},
		{v1alpha1.SignalMemory, false, func(p *signal.Pod) reading { return level(p.ResidentBytes) }},
	}
	var spreads []v1alpha1.Spread
	for _, source := range sources {
		cohort := readCohort(pods, members, source.read)
		if len(cohort.readings) < len(members) {
			continue
		}
		variance := sampleVariance(logs(cohort.replicates))
		if source.ofRequests {
			variance -= cohort.countVariance()
		}
		spreads = append(spreads, v1alpha1.Spread{Signal: source.signal, PodSpread: percentUp(math.Sqrt(math.Max(0, variance)))})
	}
	if started := startups(members); len(started) == len(members) {
		spreads = append(spreads, v1alpha1.Spread{Signal: v1alpha1.SignalStartupTime, PodSpread: percentUp(math.Sqrt(sampleVariance(logs(started))))})
	}
	return spreads
}

func sampleVariance(values []float64) float64 { return squaresAround(values) / float64(len(values)-1) }
