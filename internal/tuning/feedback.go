package tuning

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const (
	// DeadbandLooks is how many looks in a row must see the optimum outside of the deadband before a trial.
	DeadbandLooks = 3
	// maxCPUGrowth of a request is what less memory may cost; it is the margin that a trial allows.
	maxCPUGrowth = 0.02
	// maxAssistShare of the CPU time that goroutines may spend on the collector's work when they allocate: it is latency of requests.
	maxAssistShare = 0.01
)

// way is where an objective leads from the present GOGC.
type way struct {
	to direction
	// rungs that are worth it, the nearest first; the last is the optimum.
	rungs []settings.GOGC
	// wanted is the step in the logarithm where a rule asks for one; 0 leaves it to the distance from the optimum.
	wanted float64
	// because begins the reason of the candidate; nothing says why there is none.
	because, nothing string
}

// proposeFeedback diagnoses, then takes one step towards what the objective calls best: first with GOMAXPROCS where the runtime's own choice
// is wrong, since processors change what the collector costs, then with GOGC and GOMEMLIMIT.
func proposeFeedback(in Input, throttled string) Proposal {
	processors, note := processorsStep(in, throttled)
	switch starved := starvation(in); {
	case processors != nil:
		return afterStreak(in, *processors)
	case throttled != "":
		return blockedByCPU(throttled)
	case starved != "":
		return blockedByCPU(starved)
	}
	proposal := proposeGOGC(in)
	if proposal.Candidate == nil {
		proposal.Reason = shorten(proposal.Reason + note)
	}
	return proposal
}

func proposeGOGC(in Input) Proposal {
	if reason := unfitForFeedback(in); reason != "" {
		return Proposal{Reason: reason}
	}
	var nothing string
	for _, way := range ways(in) {
		proposal := takeStep(in, way)
		if proposal.Candidate != nil {
			return afterStreak(in, proposal)
		}
		if nothing == "" {
			nothing = proposal.Reason
		}
	}
	return Proposal{Reason: nothing}
}

// unfitForFeedback says why nothing can be proposed at all; empty where something can.
func unfitForFeedback(in Input) string {
	limited := in.Footing.MemoryLimitBytes != 0 || in.Baseline.MemoryLimitBytes != 0
	switch {
	case !in.Knobs.TuneGOGC:
		return "knobs.gogc.mode is Keep"
	case presentGOGC(in) == 0:
		return "GOGC is off, and the heap goal that the memory limit leaves is not measured"
	case (limited || in.Objective.Minimize == v1alpha1.MinimizeMemory) && !above(in.Observed.ResidentBytes, 0):
		return "the resident memory of no pod is measured, so nothing tells what fits the memory limit"
	case !in.Observed.GCShare.OK():
		return fmt.Sprintf("no pod finished %d collections in the window, so nothing tells what they cost", minCycles)
	}
	return ""
}

// ways are the ways to go, the first one first. Only latency, of which there is no model, has two.
func ways(in Input) []way {
	if longPause(in) && presentGOGC(in) < float64(settings.DefaultGOGC) && in.Objective.Minimize != v1alpha1.MinimizeMemory {
		return []way{shorterPauses(in)}
	}
	switch in.Objective.Minimize {
	case v1alpha1.MinimizeMemory:
		return []way{lessMemory(in)}
	case v1alpha1.MinimizeLatency:
		return lessLatency(in)
	}
	return []way{lessGCCPU(in)}
}

// lessGCCPU goes up as far as the memory allows and as long as each rung saves enough. The collector's CPU time falls as 1/GOGC, whatever the
// live heap (the cost model of https://go.dev/doc/gc-guide), so the saving follows from the ratio alone.
func lessGCCPU(in Input) way {
	from := presentGOGC(in)
	w := climb(in)
	share := in.Observed.GCShare.Number
	last := from
	for i, gogc := range w.rungs {
		saved := share * (from/last - from/float64(gogc))
		// Both gates are what must hold, so that what is not a number passes neither.
		if !(1-last/float64(gogc) >= in.Objective.MinGain && saved >= in.Objective.MinCPUGain && share <= 1) {
			w.rungs = w.rungs[:i]
			if i == 0 {
				w.nothing = "the collector takes so little CPU time that the next step promises no gain worth a trial"
			}
			break
		}
		last = float64(gogc)
	}
	return w
}

// climb has all rungs above that the bounds and the memory allow.
func climb(in Input) way {
	from := presentGOGC(in)
	w := way{to: up, because: fmt.Sprintf("GC takes %s of the CPU time at %s", percent(in.Observed.GCShare.Number), described(in))}
	within := rungs(from, up, in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	for _, gogc := range within {
		if _, fits := candidateAt(in, gogc); !fits {
			break
		}
		w.rungs = append(w.rungs, gogc)
	}
	switch {
	case len(within) == 0:
		w.nothing = fmt.Sprintf("no rung above %s lies within the bounds %s to %s", described(in), in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	case len(w.rungs) == 0:
		w.nothing = fmt.Sprintf("GOGC=%s is predicted to take more memory than the limit allows, so GOGC stays: a larger memory limit would allow a higher "+
			"one", within[0])
	}
	return w
}

// shorterPauses climbs by a full step: the share of time in pauses falls with the number of collections. Whether it pays in CPU time is for
// the trial to say.
func shorterPauses(in Input) way {
	w := climb(in)
	w.wanted = math.Log(maxStep)
	w.because = fmt.Sprintf("a collection pauses for %s on average at %s", milliseconds(in.Observed.MeanPauseSeconds.Number), described(in))
	return w
}

// lessMemory goes down as long as the CPU time of a request grows by no more than a trial allows, and assists stay rare. Assists grow faster
// than 1/GOGC: they begin where the background workers fall behind.
func lessMemory(in Input) way {
	from := presentGOGC(in)
	w := way{to: down, because: fmt.Sprintf("GC takes %s of the CPU time at %s", percent(in.Observed.GCShare.Number), described(in))}
	within := rungs(from, down, in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	if len(within) == 0 {
		w.nothing = fmt.Sprintf("no rung below %s lies within the bounds %s to %s", described(in), in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	}
	for i, gogc := range within {
		ratio := from / float64(gogc)
		assists := above(in.Observed.AssistShare, maxAssistShare/math.Pow(ratio, mostOfModel))
		if !(in.Observed.GCShare.Number*(ratio-1) <= maxCPUGrowth) || assists {
			if i == 0 {
				w.nothing = fmt.Sprintf("GOGC=%s would cost more CPU time than the memory that it saves is worth: a request may take %s more", gogc, percent(maxCPUGrowth))
			}
			break
		}
		w.rungs = append(w.rungs, gogc)
	}
	return w
}

// lessLatency tries one rung up, which means fewer collections, and one rung down, which means smaller ones, but never back where the last
// promotion came from: that was just beaten.
func lessLatency(in Input) []way {
	if !(in.Observed.GCShare.Number >= in.Objective.MinCPUGain) {
		return []way{{nothing: "the collector takes so little CPU time that requests can't wait for it"}}
	}
	last := lastPromoted(in)
	var both []way
	if last != down {
		w := climb(in)
		w.rungs = w.rungs[:min(1, len(w.rungs))]
		both = append(both, w)
	}
	if last != up {
		w := way{to: down, rungs: rungs(presentGOGC(in), down, in.Knobs.MinGOGC, in.Knobs.MaxGOGC), because: "no higher GOGC may be tried"}
		w.rungs = w.rungs[:min(1, len(w.rungs))]
		w.nothing = fmt.Sprintf("no rung below %s lies within the bounds %s to %s", described(in), in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
		both = append(both, w)
	}
	return both
}

// takeStep completes the next rung on the way to a candidate. Nothing beyond a rung that failed is tried; what lies before it still is.
func takeStep(in Input, w way) Proposal {
	from := presentGOGC(in)
	open, closed := tryable(in, w)
	if len(open) == 0 {
		return Proposal{Reason: shorten(cmp.Or(closed, w.nothing, "no GOGC that may be tried is left: those within the bounds are declared, or do not fit the memory"))}
	}
	optimum := float64(open[len(open)-1])
	if opposite := lastPromoted(in) == -w.to; opposite && !beyond(from, optimum, w.to, 2*deadband) {
		return Proposal{Reason: fmt.Sprintf("GOGC=%.0f lies too near %s to turn back after the last promotion", optimum, described(in))}
	}
	gogc := step(from, open)
	if w.wanted != 0 {
		gogc = nearest(from, w.wanted, open)
	}
	candidate, _ := candidateAt(in, gogc) // fits, as tryable has seen
	return predicted(in, w, candidate)
}

// tryable are the rungs before the first that failed, without those that do not fit. What is declared is none to try: the pods would have it
// without a policy.
func tryable(in Input, w way) (open []settings.GOGC, closed string) {
	for _, gogc := range w.rungs {
		candidate, fits := candidateAt(in, gogc)
		switch {
		case !fits || equalInEffect(candidate, in.Footing.Declared) || equalInEffect(candidate, in.Baseline):
		case rejected(in, candidate):
			return open, candidate.Canonical() + " failed on these resources less than seven days ago"
		case unproven(in, candidate):
			return open, candidate.Canonical() + " went well on too few pods for a proof: a person decides about it"
		default:
			open = append(open, gogc)
		}
	}
	return open, ""
}

// predicted tells the candidate with its effect, or that the effect is too small.
func predicted(in Input, w way, candidate settings.Settings) Proposal {
	from, to := presentGOGC(in), float64(candidate.GOGC)
	proposal := Proposal{Candidate: &candidate, OutsideDeadband: true}
	switch in.Objective.Minimize {
	case v1alpha1.MinimizeMemory:
		proposal.Predicted = predict(predictedResident(in.Observed, from, to) / predictedResident(in.Observed, from, from))
		if !(-proposal.Predicted.Mid >= in.Objective.MinGain) {
			return Proposal{Reason: fmt.Sprintf("GOGC=%s would save less memory than is worth a trial", candidate.GOGC)}
		}
		proposal.Reason = fmt.Sprintf("%s; GOGC=%s should take %.0f%% less memory", w.because, candidate.GOGC, -100*proposal.Predicted.Mid)
	case v1alpha1.MinimizeLatency:
		proposal.Reason = fmt.Sprintf("%s; whether GOGC=%s makes requests faster, a trial must tell", w.because, candidate.GOGC)
	default:
		proposal.Predicted = predict(from / to)
		proposal.Reason = fmt.Sprintf("%s; GOGC=%s should take %.0f%% less of it", w.because, candidate.GOGC, -100*proposal.Predicted.Mid)
	}
	proposal.Reason = shorten(proposal.Reason)
	return proposal
}

// afterStreak keeps a candidate back until the optimum was seen outside of the deadband often enough.
func afterStreak(in Input, proposal Proposal) Proposal {
	if in.Streak >= DeadbandLooks {
		return proposal
	}
	proposal.Reason = shorten(fmt.Sprintf("%s is tried once %d looks in a row have found it: %s", proposal.Candidate.Canonical(), DeadbandLooks, proposal.Reason))
	proposal.Candidate, proposal.Predicted = nil, Prediction{}
	return proposal
}

// described names the present GOGC: the one that is set, or what the memory limit makes of it.
func described(in Input) string {
	from := presentGOGC(in)
	if from != float64(in.Baseline.EffectiveGOGC()) {
		return fmt.Sprintf("GOGC=%s, which the memory limit makes as good as %.0f", in.Baseline.EffectiveGOGC(), from)
	}
	return "GOGC=" + in.Baseline.EffectiveGOGC().String()
}
