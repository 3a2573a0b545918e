package tuning

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// service follows the cost model of https://go.dev/doc/gc-guide: a cycle marks what is live, and there are 100·allocated/(GOGC·(live+roots)) of them.
type service struct {
	live, roots, rest, limit float64
	// gcAt100 is the collector's CPU time of a request at GOGC=100, relative to all other CPU time of it.
	gcAt100 float64
	// exponent of the cost in 1/GOGC: 1 in the model.
	exponent float64
}

func anyService(random *rand.Rand) service {
	live := mebibyte * math.Exp(math.Log(8)+random.Float64()*math.Log(256))
	s := service{live: live, roots: live * random.Float64() / 10, rest: 20*mebibyte + live*random.Float64()/2}
	s.gcAt100 = 0.02 * math.Exp(random.Float64()*math.Log(25))
	s.exponent = 0.8 + 0.4*random.Float64()
	s.limit = s.resident(1, 100) * (1.1 + 3*random.Float64())
	return s
}

func (s service) gc(gogc float64) float64 { return s.gcAt100 * math.Pow(100/gogc, s.exponent) }

// resident at a load that makes the live heap so many times as large.
func (s service) resident(load, gogc float64) float64 {
	return fragmentation*load*(s.live+(s.live+s.roots)*gogc/100) + s.rest
}

func (s service) observed(random *rand.Rand, load, gogc float64) Observation {
	noisy := func(n float64) float64 { return n * math.Exp(0.03*random.NormFloat64()) }
	gc := noisy(s.gc(gogc))
	return Observation{
		Pods: 4, GCShare: present(gc / (1 + gc)), LiveHeapBytes: present(noisy(load * s.live)), RootBytes: present(load * s.roots),
		ResidentBytes: present(s.resident(load, gogc)), NonHeapBytes: present(s.rest),
	}
}

// tune looks at the service until nothing is proposed any more, or time is up, and tries what is proposed on its true costs.
type tuned struct {
	in                Input
	service           service
	trials, reversals int
	unfit             int
}

func (w *tuned) look(random *rand.Rand, load float64) {
	from := float64(w.in.Baseline.EffectiveGOGC())
	w.in.Observed = w.service.observed(random, load, from)
	got := Propose(w.in)
	if w.in.Streak++; !got.OutsideDeadband {
		w.in.Streak = 1
	}
	if got.Candidate == nil {
		return
	}
	w.trials++
	w.in.Streak = 1
	to := float64(got.Candidate.GOGC)
	if w.service.resident(load, to) > 0.9*w.service.limit {
		w.unfit++
	}
	record := ended(w.in, *got.Candidate, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	record.EndedAt, record.Previous = metav1.NewTime(w.in.Now), &v1alpha1.Baseline{Settings: w.in.Baseline.API()}
	if w.gains(from, to) {
		record.Result, record.Reason = v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted
		w.in.Baseline = *got.Candidate
	}
	if reverses(record, w.in.History) {
		w.reversals++
	}
	w.in.History = append([]v1alpha1.TrialRecord{record}, w.in.History[:min(len(w.in.History), 9)]...)
	w.in.Rejected = Reject(w.in.Rejected, record, "go1.26", w.in.Now)
}

// gains says what a trial would find.
func (w *tuned) gains(from, to float64) bool {
	before, after := w.service.gc(from), w.service.gc(to)
	switch w.in.Objective.Minimize {
	case v1alpha1.MinimizeMemory:
		return w.service.resident(1, to) < 0.95*w.service.resident(1, from) && 1+after <= 1.02*(1+before)
	case v1alpha1.MinimizeLatency:
		return after < 0.95*before
	}
	return after <= 0.95*before && before-after >= 0.01*(1+before)
}

func serviceInput(s service, gogc settings.GOGC) Input {
	in := input()
	in.Baseline.GOGC, in.Footing.Declared.GOGC, in.Footing.MemoryLimitBytes, in.GoVersion = gogc, gogc, int64(s.limit), "go1.26.8"
	return in
}

// TestFeedbackConverges on services drawn wide: soon, near the best rung that fits, and never by what does not fit.
func TestFeedbackConverges(t *testing.T) {
	random := rand.New(rand.NewPCG(26, 8))
	var trials, ratios []float64
	for range 400 {
		s := anyService(random)
		start := settings.GOGC(100)
		if random.Float64() > 0.7 {
			start = []settings.GOGC{25, 50, 200}[random.IntN(3)]
		}
		w := tuned{in: serviceInput(s, start), service: s}
		for range 60 {
			w.in.Now = w.in.Now.Add(time.Hour)
			w.look(random, 1)
		}
		if w.unfit > 0 {
			t.Fatalf("%+v: %d candidates do not fit", s, w.unfit)
		}
		best := 1 + s.gc(float64(start))
		for _, gogc := range ladder {
			if gogc >= w.in.Knobs.MinGOGC && gogc <= w.in.Knobs.MaxGOGC && s.resident(1, float64(gogc)) <= memoryShare*s.limit {
				best = math.Min(best, 1+s.gc(float64(gogc)))
			}
		}
		trials = append(trials, float64(w.trials))
		ratios = append(ratios, best/(1+s.gc(float64(w.in.Baseline.EffectiveGOGC()))))
	}
	slices.Sort(trials)
	slices.Sort(ratios)
	t.Logf("trials: median %v, most %v; CPU of the best rung over the final one: least %.3f, worst tenth %.3f, median %.3f", trials[200], trials[399], ratios[0], ratios[40],
		ratios[200])
	if trials[200] < 1 || trials[200] > 4 || trials[399] > 8 {
		t.Errorf("trials: median %v, most %v", trials[200], trials[399])
	}
	if ratios[200] < 0.97 || ratios[40] < 0.95 {
		t.Errorf("CPU of the best rung over the final one: worst tenth %v, median %v", ratios[40], ratios[200])
	}
}

// TestReversalsUnderDiurnalLoad: a live heap that doubles each day and halves each night turns the settings back at most twice.
func TestReversalsUnderDiurnalLoad(t *testing.T) {
	random := rand.New(rand.NewPCG(24, 1))
	tried := 0
	for i := range 60 {
		s := anyService(random)
		s.limit *= 1.5
		w := tuned{in: serviceInput(s, 100), service: s}
		w.in.Objective.Minimize = []v1alpha1.Minimize{v1alpha1.MinimizeGCCPU, v1alpha1.MinimizeMemory, v1alpha1.MinimizeLatency}[i%3]
		for look := range 24 * 12 {
			w.in.Now = w.in.Now.Add(5 * time.Minute)
			if len(w.in.History) > 0 && w.in.Now.Sub(w.in.History[0].EndedAt.Time) < NextCooldown(15*time.Minute, w.in.History) {
				continue
			}
			w.look(random, 1+0.5*math.Sin(2*math.Pi*float64(look)/288))
		}
		tried += w.trials
		if w.reversals > 2 || w.unfit > 0 {
			t.Errorf("%+v, %s: %d reversals, %d unfit", s, w.in.Objective.Minimize, w.reversals, w.unfit)
		}
	}
	if tried < 60 {
		t.Errorf("only %d trials: nothing was shown", tried)
	}
}

// FuzzPropose: whatever was measured, a candidate of Feedback lies within the bounds, moves by at most half, but for the way into the bounds, moves one
// dimension, fits the memory as predicted, promises enough, and is told in words without NaN.
func FuzzPropose(f *testing.F) {
	f.Add(int32(50), int64(0), int64(1<<30), int32(25), int32(200), 0.9, 0.25, 1e8, 1e6, 2e8, 60.0, uint8(0))
	f.Add(int32(0), int64(1<<28), int64(0), int32(1), int32(10000), 0.5, 1.0, 0.0, 0.0, 1e9, 0.0, uint8(1))
	f.Add(int32(1<<30), int64(1), int64(1), int32(1), int32(1), math.NaN(), math.NaN(), math.NaN(), math.Inf(1), math.NaN(), math.NaN(), uint8(2))
	random := rand.New(rand.NewPCG(8, 8))
	for range 2000 { // services as they are, so that a plain test run sees proposals too
		size := float64(int64(mebibyte) << random.IntN(12))
		f.Add(random.Int32N(600)-1, int64(random.IntN(2))*int64(size*2*random.Float64()), int64(size*3*random.Float64()), 1+random.Int32N(100),
			100+random.Int32N(1000), random.Float64()*1.1, random.Float64(), size*random.Float64()/2, size*random.Float64()/20, size*random.Float64(),
			500*random.Float64(), uint8(random.IntN(3)))
	}
	f.Fuzz(func(t *testing.T, gogc int32, baseline, limit int64, least, most int32, share, gcShare, live, roots, resident, effective float64, objective uint8) {
		if gogc < -1 || baseline < 0 || limit < 0 {
			return
		}
		in := input()
		in.Baseline = settings.Settings{GOGC: settings.GOGC(gogc), MemoryLimitBytes: baseline}
		in.Footing.MemoryLimitBytes = limit
		in.Knobs.MinGOGC, in.Knobs.MaxGOGC, in.Knobs.MemoryLimitShare = settings.GOGC(least), settings.GOGC(most), share
		in.Observed = Observation{
			Pods: 1, GCShare: present(gcShare), LiveHeapBytes: present(live), RootBytes: present(roots), ResidentBytes: present(resident),
			EffectiveGOGC: present(effective),
		}
		in.Objective.Minimize = []v1alpha1.Minimize{v1alpha1.MinimizeGCCPU, v1alpha1.MinimizeMemory, v1alpha1.MinimizeLatency}[objective%3]
		got := Propose(in)
		if got.Reason == "" || len(got.Reason) > 512 || strings.Contains(got.Reason, "NaN") || strings.Contains(got.Reason, "Inf") {
			t.Fatalf("reason %q", got.Reason)
		}
		if got.Candidate == nil {
			return
		}
		checkCandidate(t, in, got)
	})
}

func checkCandidate(t *testing.T, in Input, got Proposal) {
	from, to := presentGOGC(in), float64(got.Candidate.GOGC)
	if !(to >= float64(in.Knobs.MinGOGC) && to <= float64(in.Knobs.MaxGOGC)) || equalInEffect(*got.Candidate, in.Baseline) {
		t.Fatalf("from %s to %s, bounds %s to %s", in.Baseline.Canonical(), got.Candidate.Canonical(), in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	}
	for _, rung := range ladder {
		between := float64(rung) > math.Min(from, to) && float64(rung) < math.Max(from, to)
		wide := to > maxStep*from || from > maxStep*to
		_, fits := candidateAt(in, rung)
		if wide && fits && between && rung >= in.Knobs.MinGOGC && rung <= in.Knobs.MaxGOGC && (float64(rung) > 1.15*from || float64(rung) < from/1.15) &&
			rung != in.Footing.Declared.GOGC {
			t.Fatalf("from %v to %v, over %s", from, to, rung)
		}
	}
	need, backstop := predictedResident(in.Observed, from, to), got.Candidate.MemoryLimitBytes
	limit := in.Footing.MemoryLimitBytes
	if limit != 0 && !(need <= memoryShare*float64(limit)) || backstop != 0 && !(float64(backstop) >= need) {
		t.Fatalf("needs %v of %d under GOMEMLIMIT=%d", need, limit, backstop)
	}
	if backstop != in.Baseline.MemoryLimitBytes && (backstop < minMemoryLimitBytes || backstop > limit) {
		t.Fatalf("GOMEMLIMIT=%d, the memory limit is %d", backstop, limit)
	}
	predictable := in.Objective.Minimize != v1alpha1.MinimizeLatency
	if predictable != (got.Predicted.Mid <= -in.Objective.MinGain) || got.Predicted.Low > got.Predicted.Mid || got.Predicted.Mid > got.Predicted.High {
		t.Fatalf("%s: predicted %+v", in.Objective.Minimize, got.Predicted)
	}
}
