package verdict

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// fleet is a simulated trial. Pods differ for good by podDeviation in each signal, and from window to window by withinDeviation with an
// autocorrelation; requests take a lognormal time.
type fleet struct {
	canaries, controls           int
	podDeviation, autocorrelated float64
	// gain of GC CPU time, harm to the time of all requests, and outliers: the share of requests that take ten times as long.
	gain, harm, outliers float64
}

const (
	withinDeviation = 0.05
	fleetHold       = 20 // looks
	fleetLooks      = 60
)

var fleetEdges = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, math.Inf(1)}

// process is one pod of a fleet: what it differs by for good, what by now, for latency, CPU, GC CPU and errors.
type process struct {
	lasting, passing [4]float64
	sum, last        signal.Pod
}

func (f fleet) process(random *rand.Rand) *process {
	p := &process{}
	for i := range p.lasting {
		p.lasting[i], p.passing[i] = f.podDeviation*random.NormFloat64(), withinDeviation*random.NormFloat64()
	}
	return p
}

// step measures half a minute at 50 requests a second.
func (f fleet) step(random *rand.Rand, p *process, canary bool) signal.Pod {
	var factor [4]float64
	for i := range factor {
		p.passing[i] = f.autocorrelated*p.passing[i] + math.Sqrt(1-f.autocorrelated*f.autocorrelated)*withinDeviation*random.NormFloat64()
		factor[i] = math.Exp(p.lasting[i] + p.passing[i])
	}
	outliers := 0.0
	if canary {
		factor[0] *= 1 + f.harm
		factor[2] *= 1 - f.gain
		outliers = f.outliers
	}
	const shape, middle, requests = 0.8, 0.02, 1500
	pod := sample(0)
	pod.Latency = nil
	below, count := 0.0, 0.0
	for _, edge := range fleetEdges {
		z := math.Log(edge/middle/factor[0]) / shape
		share := (1-outliers)*normal(z) + outliers*normal(z-math.Log(10)/shape)
		count += around(random, requests*(share-below))
		below = share
		pod.Latency = append(pod.Latency, bucket(edge, count))
	}
	pod.Requests = present(count)
	pod.RequestSeconds = present(count * middle * factor[0] * math.Exp(shape*shape/2) * (1 + 9*outliers) * (1 + 0.95/math.Sqrt(count)*random.NormFloat64()))
	pod.FailedRequests = present(around(random, 0.0005*count*factor[3]))
	pod.CPUSeconds, pod.GCCPUSeconds = present(0.005*count*factor[1]), present(0.001*count*factor[2])
	p.sum, p.last = added(p.sum, pod), pod
	return pod
}

func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// around draws a count about its mean.
func around(random *rand.Rand, mean float64) float64 {
	if mean > 30 {
		return math.Round(mean + math.Sqrt(mean)*random.NormFloat64())
	}
	count, left := 0.0, random.Float64()
	for chance := math.Exp(-math.Max(0, mean)); left > chance; chance *= mean / count {
		left -= chance
		count++
	}
	return count
}

func added(a, b signal.Pod) signal.Pod {
	sum := b
	for _, values := range [][2]*signal.Value{
		{&sum.Requests, &a.Requests}, {&sum.FailedRequests, &a.FailedRequests}, {&sum.RequestSeconds, &a.RequestSeconds},
		{&sum.CPUSeconds, &a.CPUSeconds}, {&sum.GCCPUSeconds, &a.GCCPUSeconds}, {&sum.GCCycles, &a.GCCycles},
	} {
		values[0].Number += values[1].Number
	}
	sum.Latency = make([]signal.Bucket, len(b.Latency))
	copy(sum.Latency, b.Latency)
	for i := range a.Latency {
		sum.Latency[i].Count += a.Latency[i].Count
	}
	return sum
}

// margins are settled from forty other pods without a candidate.
func (f fleet) margins(random *rand.Rand) map[v1alpha1.SignalName]Margin {
	members, w := cohort("pod", 40), window(10*time.Minute)
	for _, member := range members {
		p := f.process(random)
		for range fleetHold {
			f.step(random, p, false)
		}
		w.Pods[member.Name] = p.sum
	}
	defaults := map[v1alpha1.SignalName]float64{}
	for _, one := range defaultMargins {
		defaults[one.signal] = one.allowed
	}
	settled, _ := SettleMargins(MarginInput{Defaults: defaults, Max: 0.1, Spreads: Spreads(w, members), Canary: f.canaries, Control: f.controls})
	return ParseMargins(settled)
}

// run gives the end of a trial: Pass for a promotion, Fail with its reason, or Inconclusive where time runs out.
func (f fleet) run(random *rand.Rand) (v1alpha1.Outcome, string) {
	in := passing()
	in.Canary, in.Control = cohort("canary", f.canaries), cohort("control", f.controls)
	in.SLOs = []SLO{{Name: "latency", ThresholdSeconds: 1, AllowedShare: 0.01}, errorsSLO}
	in.Margins, in.Looks = f.margins(random), fleetLooks
	var processes []*process
	for range f.canaries + f.controls {
		processes = append(processes, f.process(random))
	}
	for look := 1; look <= fleetLooks; look++ {
		in.Recent, in.Evidence = window(time.Minute), window(time.Duration(look)*30*time.Second)
		for i, member := range append(in.Canary, in.Control...) {
			before := processes[i].last
			recent := f.step(random, processes[i], i < f.canaries)
			in.Recent.Pods[member.Name], in.Evidence.Pods[member.Name] = added(before, recent), processes[i].sum
		}
		if look < 2 || look > fleetHold && look%4 > 0 { // later looks are much alike
			continue
		}
		in.JudgeGain = look >= fleetHold
		judged := Judge(in)
		in.BadWindows = judged.BadWindows
		if judged.Outcome == v1alpha1.OutcomeFail || judged.Outcome == v1alpha1.OutcomePass && in.JudgeGain {
			return judged.Outcome, judged.Reason
		}
	}
	return v1alpha1.OutcomeInconclusive, ""
}

// TestFleets is a small simulation of whole trials; the figures of the project come from a larger one.
func TestFleets(t *testing.T) {
	tests := map[string]struct {
		fleet    fleet
		trials   int
		promoted [2]int // at least, at most
		harmed   [2]int
	}{
		"gain of a fifth":        {fleet{canaries: 4, controls: 8, podDeviation: 0.03, autocorrelated: 0.4, gain: 0.2}, 20, [2]int{18, 20}, [2]int{0, 1}},
		"gain, but a tenth slow": {fleet{canaries: 4, controls: 8, podDeviation: 0.03, autocorrelated: 0.4, gain: 0.2, harm: 0.1}, 20, [2]int{0, 2}, [2]int{0, 20}},
		"nothing":                {fleet{canaries: 4, controls: 8, podDeviation: 0.06, autocorrelated: 0.8}, 20, [2]int{0, 1}, [2]int{0, 1}},
		"nothing, alike pods":    {fleet{canaries: 3, controls: 3, autocorrelated: 0.8}, 20, [2]int{0, 1}, [2]int{0, 1}},
		"outliers":               {fleet{canaries: 4, controls: 8, podDeviation: 0.03, gain: 0.2, outliers: 0.05}, 15, [2]int{0, 0}, [2]int{14, 15}},
		"gross harm, few pods":   {fleet{canaries: 3, controls: 3, podDeviation: 0.01, gain: 0.2, harm: 0.9}, 10, [2]int{0, 0}, [2]int{9, 10}},
	}
	for name, test := range tests {
		random := rand.New(rand.NewPCG(20, 26))
		promoted, harmed := 0, 0
		for range test.trials {
			outcome, reason := test.fleet.run(random)
			if outcome == v1alpha1.OutcomePass {
				promoted++
			}
			if reason == v1alpha1.ReasonHarmed {
				harmed++
			}
		}
		if promoted < test.promoted[0] || promoted > test.promoted[1] || harmed < test.harmed[0] || harmed > test.harmed[1] {
			t.Errorf("%s: of %d trials %d are promoted, %d found harmful; want %v and %v", name, test.trials, promoted, harmed, test.promoted, test.harmed)
		}
	}
}
