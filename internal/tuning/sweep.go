package tuning

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// maxRungs is the bound that the CRD sets.
const maxRungs = 12

// defaultLadder is that of the CRD, for a policy that says nothing of a ladder.
var defaultLadder = []int32{25, 50, 100, 150, 200}

// proposeSweep gives the next rung to measure; once all are, it ranks them, and gives the best for promotion, once.
func proposeSweep(in Input) Proposal {
	switch {
	case !in.Knobs.TuneGOGC:
		return Proposal{Reason: "knobs.gogc.mode is Keep"}
	case !above(in.Observed.ResidentBytes, 0) && in.Footing.MemoryLimitBytes != 0:
		return Proposal{Reason: "the resident memory of no pod is measured, so nothing tells what fits the memory limit"}
	case presentGOGC(in) == 0:
		return Proposal{Reason: "GOGC is off, and the heap goal that the memory limit leaves is not measured"}
	}
	table, changed := sweepTable(in)
	proposal := nextRung(in, table, &changed)
	if proposal.Candidate == nil {
		changed = rank(in, table) || changed
		proposal = promotePicked(in, table)
	}
	if changed {
		proposal.Sweep = table
	}
	return proposal
}

// sweepTable is the table so far, or a new one where there is none for this footing and ladder. The baseline's GOGC is measured too, if there is
// room: what is better than it can be told only by the same measurement.
func sweepTable(in Input) (table *v1alpha1.Sweep, begun bool) {
	order := slices.Clone(in.Strategy.Ladder)
	if len(order) == 0 {
		order = slices.Clone(defaultLadder)
	}
	if old := in.Sweep; old != nil {
		footing, err := settings.FootingFromAPI(old.Footing)
		if err == nil && footing == in.Footing && !slices.ContainsFunc(order, func(gogc int32) bool { return !slices.Contains(old.Order, gogc) }) {
			return old.DeepCopy(), false
		}
	}
	if baseline := int32(in.Baseline.EffectiveGOGC()); baseline > 0 && len(order) < maxRungs && !slices.Contains(order, baseline) {
		order = append(order, baseline)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(lot(in.Seed, a), lot(in.Seed, b)) })
	return &v1alpha1.Sweep{StartedAt: metav1.NewTime(in.Now), Footing: in.Footing.API(), Order: order}, true
}

// lot is a rung's place in an order that depends on the seed alone. Drawn at random, the rungs' order has nothing to do with what changes
// meanwhile, such as the traffic.
func lot(seed uint64, gogc int32) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d", seed, gogc))
	return binary.BigEndian.Uint64(sum[:])
}

// nextRung is the first that is not in the table. Those that may not be measured go into it at once, with the reason. The baseline's own rung is
// measured as it is.
func nextRung(in Input, table *v1alpha1.Sweep, changed *bool) Proposal {
	for _, gogc := range table.Order {
		if _, done := rungAt(table, gogc); done {
			continue
		}
		if settings.GOGC(gogc) == in.Baseline.EffectiveGOGC() {
			return measureProposal(table, in.Baseline)
		}
		candidate, fits := candidateAt(in, settings.GOGC(gogc))
		switch {
		case beyondExplicit(settings.GOGC(gogc), in.Knobs) != "":
			table.Rungs = append(table.Rungs, FailedRung(gogc, rungOutOfBounds))
		case !fits:
			table.Rungs = append(table.Rungs, FailedRung(gogc, rungUnfit))
		default:
			return measureProposal(table, candidate)
		}
		*changed = true
	}
	return Proposal{}
}

func rungAt(table *v1alpha1.Sweep, gogc int32) (v1alpha1.Rung, bool) {
	for _, rung := range table.Rungs {
		if rung.GOGC == gogc {
			return rung, true
		}
	}
	return v1alpha1.Rung{}, false
}

func measureProposal(table *v1alpha1.Sweep, candidate settings.Settings) Proposal {
	return Proposal{
		Candidate: &candidate, Purpose: v1alpha1.PurposeMeasure,
		Reason: fmt.Sprintf("rung %d of %d of the sweep: %s", len(table.Rungs)+1, len(table.Order), candidate.Canonical()),
	}
}

// promotePicked gives the rung that was picked to a trial like any other, once for each sweep.
func promotePicked(in Input, table *v1alpha1.Sweep) Proposal {
	if table.Picked == nil {
		return Proposal{Reason: "the sweep is complete: no rung is enough better than the baseline; status.sweep has the table"}
	}
	picked := settings.GOGC(*table.Picked)
	candidate, fits := candidateAt(in, picked)
	rung, _ := rungAt(table, *table.Picked)
	row := describedRung(rung)
	switch {
	case picked == in.Baseline.EffectiveGOGC():
		return Proposal{Reason: shorten("the sweep is complete, and its best rung is the baseline: " + row)}
	case !fits:
		return Proposal{Reason: shorten("the sweep is complete, but the memory limit has no room any more for its best rung: " + row)}
	case rejected(in, candidate), promotedSince(in, table, candidate):
		return Proposal{Reason: shorten("the sweep is complete, and its best rung was tried: " + row)}
	}
	return Proposal{Candidate: &candidate, Reason: shorten("the best rung of the sweep: " + row), Predicted: sweptPrediction(in, table, rung)}
}

// promotedSince says that a trial for the promotion of the candidate came to an end that speaks of it since the sweep began.
func promotedSince(in Input, table *v1alpha1.Sweep, candidate settings.Settings) bool {
	return slices.ContainsFunc(in.History, func(record v1alpha1.TrialRecord) bool {
		forPromotion := record.Purpose == "" || record.Purpose == v1alpha1.PurposePromote
		return forPromotion && !outgrown(in, record) && !record.EndedAt.Time.Before(table.StartedAt.Time) && speaksOf(record, candidate, in.Footing)
	})
}
