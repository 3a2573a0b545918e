package tuning

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

func sweeping(ladder ...int32) Input {
	in := input()
	in.Strategy, in.Seed = Strategy{Type: v1alpha1.StrategySweep, Ladder: ladder}, 7
	return in
}

// asModelled is what a rung shows of a service that spends a quarter of its CPU time on the collector at GOGC=50.
func asModelled(gogc int32) v1alpha1.Rung {
	gc := 0.001 * 50 / float64(gogc)
	return figures{
		requestsPerCPUSecond: 1 / (0.003 + gc), p99Seconds: 0.02 + 20*gc, memoryBytes: (100 + 1.1*float64(gogc)) * mebibyte, gcShare: gc / (0.003 + gc),
		gcSecondsPerRequest: gc, slowShare: 0.001,
	}.rung(gogc)
}

// sweep measures rung after rung until none is left, and gives the last proposal.
func sweep(t *testing.T, in *Input, show func(int32) v1alpha1.Rung) (Proposal, []int32) {
	t.Helper()
	var order []int32
	for range 20 {
		got := Propose(*in)
		if got.Sweep != nil {
			in.Sweep = got.Sweep
		}
		if got.Purpose != v1alpha1.PurposeMeasure {
			return got, order
		}
		gogc := int32(got.Candidate.GOGC)
		order = append(order, gogc)
		in.Sweep.Rungs = append(in.Sweep.Rungs, show(gogc))
	}
	t.Fatal("the sweep has no end")
	return Proposal{}, nil
}

func TestSweep(t *testing.T) {
	in := sweeping(25, 50, 100, 200)
	first := Propose(in)
	if first.Purpose != v1alpha1.PurposeMeasure || first.Sweep == nil || first.Reason != "rung 1 of 4 of the sweep: "+first.Candidate.Canonical() {
		t.Fatalf("%+v", first)
	}
	if first.Sweep.StartedAt != metav1.NewTime(now) || cmp.Diff(in.Footing.API(), first.Sweep.Footing) != "" || len(first.Sweep.Rungs) != 0 {
		t.Errorf("%+v", first.Sweep)
	}
	last, order := sweep(t, &in, asModelled)
	if diff := cmp.Diff(first.Sweep.Order, order); diff != "" {
		t.Errorf("measured in another order than written: %s", diff)
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, []int32{25, 50, 100, 200}) {
		t.Errorf("measured %v", order)
	}
	want := settings.Settings{GOGC: 200, MemoryLimitBytes: 966367641}
	if last.Candidate == nil || *last.Candidate != want || last.Purpose != v1alpha1.PurposePromote || last.OutsideDeadband {
		t.Fatalf("%+v", last)
	}
	if math.Abs(last.Predicted.Mid+0.75) > 1e-3 || !strings.HasPrefix(last.Reason, "the best rung of the sweep: GOGC=200, 307.7 requests per CPU second") {
		t.Errorf("%+v %q", last.Predicted, last.Reason)
	}
	if *in.Sweep.Picked != 200 {
		t.Errorf("picked %v", in.Sweep.Picked)
	}
	for _, rung := range in.Sweep.Rungs {
		if rung.AgainstModel != "" || rung.Standing != v1alpha1.StandingPareto {
			t.Errorf("%+v", rung)
		}
	}
	if again := Propose(in); again.Sweep != nil || again.Candidate == nil {
		t.Errorf("ranked again: %+v", again)
	}
}

// TestSweepMeasuresTheBaselineToo, as it is: what is better than it can be told only by the same measurement.
func TestSweepMeasuresTheBaselineToo(t *testing.T) {
	in := sweeping(100, 200)
	proposals := map[int32]settings.Settings{}
	for _, gogc := range Propose(in).Sweep.Order {
		done := Propose(in).Sweep
		for _, other := range done.Order {
			if other != gogc {
				done.Rungs = append(done.Rungs, asModelled(other))
			}
		}
		rest := in
		rest.Sweep = done
		proposals[gogc] = *Propose(rest).Candidate
	}
	want := map[int32]settings.Settings{50: {GOGC: 50}, 100: {GOGC: 100, MemoryLimitBytes: 966367641}, 200: {GOGC: 200, MemoryLimitBytes: 966367641}}
	if diff := cmp.Diff(want, proposals); diff != "" {
		t.Error(diff)
	}
	for name, test := range map[string]struct {
		edit func(*Input)
		want []int32
	}{
		"the ladder of the CRD": {func(in *Input) { in.Strategy.Ladder = nil }, []int32{25, 50, 100, 150, 200}},
		"off has no rung":       {func(in *Input) { in.Baseline.GOGC, in.Observed.EffectiveGOGC = settings.Off, present(90) }, []int32{100, 200}},
		"unset is 100":          {func(in *Input) { in.Baseline.GOGC = 0 }, []int32{100, 200}},
		"eleven, and one": {func(in *Input) { in.Strategy.Ladder = []int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} },
			[]int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 50}},
		"twelve are full": {func(in *Input) { in.Strategy.Ladder = []int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16} },
			[]int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
	} {
		in := sweeping(100, 200)
		test.edit(&in)
		if got := slices.Sorted(slices.Values(Propose(in).Sweep.Order)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSweepOrderIsRandom(t *testing.T) {
	first := map[int32]int{}
	for seed := range uint64(300) {
		in := sweeping(25, 50, 100, 200)
		in.Seed = seed
		order := Propose(in).Sweep.Order
		in.Strategy.Ladder = []int32{200, 25, 100, 50}
		if diff := cmp.Diff(order, Propose(in).Sweep.Order); diff != "" {
			t.Fatalf("the order depends on more than the seed: %s", diff)
		}
		first[order[0]]++
	}
	for gogc, times := range first {
		if times < 45 || times > 105 || len(first) != 4 {
			t.Errorf("%d is first %d times of 300", gogc, times)
		}
	}
}

func TestSweepLeavesOut(t *testing.T) {
	in := sweeping(25, 50, 100, 200, 400)
	in.Knobs.ExplicitMin, in.Knobs.ExplicitMax, in.Footing.MemoryLimitBytes = 60, 300, 400*mebibyte // 200 needs 369 MiB
	in.Sweep = nil
	_, order := sweep(t, &in, asModelled)
	slices.Sort(order)
	if diff := cmp.Diff([]int32{50, 100}, order); diff != "" {
		t.Errorf("measured: %s", diff)
	}
	got := map[int32]string{}
	for _, rung := range in.Sweep.Rungs {
		got[rung.GOGC] = rung.Result
	}
	want := map[int32]string{25: "OutOfBounds", 50: "Measured", 100: "Measured", 200: "DoesNotFitMemory", 400: "OutOfBounds"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if *in.Sweep.Picked != 100 {
		t.Errorf("picked %d", *in.Sweep.Picked)
	}
}

// TestSweepKeepsWhatItLeavesOut: a rung that may not be measured is written down with the proposal of the next one.
func TestSweepKeepsWhatItLeavesOut(t *testing.T) {
	in := sweeping(25, 50)
	in.Knobs.ExplicitMin = 60
	in.Sweep = &v1alpha1.Sweep{StartedAt: metav1.NewTime(now), Footing: in.Footing.API(), Order: []int32{25, 50}}
	got := Propose(in)
	if got.Sweep == nil || len(got.Sweep.Rungs) != 1 || got.Sweep.Rungs[0].GOGC != 25 || got.Candidate == nil || got.Candidate.GOGC != 50 {
		t.Errorf("%+v", got)
	}
}

func TestSweepCannotStart(t *testing.T) {
	tests := map[string]struct {
		edit   func(*Input)
		reason string
	}{
		"kept":               {func(in *Input) { in.Knobs.TuneGOGC = false }, "knobs.gogc.mode is Keep"},
		"memory unmeasured":  {func(in *Input) { in.Observed.ResidentBytes = signal.Value{} }, "resident memory"},
		"off and unmeasured": {func(in *Input) { in.Baseline.GOGC = settings.Off }, "GOGC is off"},
	}
	for name, test := range tests {
		in := sweeping(25, 50)
		test.edit(&in)
		if got := Propose(in); got.Candidate != nil || got.Sweep != nil || !strings.Contains(got.Reason, test.reason) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	in := sweeping(25, 50)
	in.Observed.ResidentBytes, in.Footing.MemoryLimitBytes = signal.Value{}, 0
	if got := Propose(in); got.Candidate == nil {
		t.Errorf("without a limit nothing needs to fit: %+v", got)
	}
}

// TestSweepRests after its promotion, or its failure; a new footing or ladder begins anew.
func TestSweepRests(t *testing.T) {
	picked := settings.Settings{GOGC: 200, MemoryLimitBytes: 966367641}
	record := func(in *Input, result v1alpha1.TrialResult, reason string, edit func(*v1alpha1.TrialRecord)) {
		r := ended(*in, picked, result, reason)
		r.EndedAt = metav1.NewTime(now)
		if edit != nil {
			edit(&r)
		}
		in.History = append(in.History, r)
	}
	const rests, tries, begins = "rests", "tries", "begins"
	tests := map[string]struct {
		edit func(*Input)
		want string
	}{
		"complete":                  {func(*Input) {}, tries},
		"promoted":                  {func(in *Input) { in.Baseline = picked }, rests},
		"promoted, then taken back": {func(in *Input) { record(in, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted, nil) }, rests},
		"failed":                    {func(in *Input) { record(in, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain, nil) }, rests},
		"recommended":               {func(in *Input) { record(in, v1alpha1.TrialRecommended, v1alpha1.ReasonGuardrailsOnly, nil) }, rests},
		"recommended, provable now": {func(in *Input) {
			in.Provable = true
			record(in, v1alpha1.TrialRecommended, v1alpha1.ReasonRecommended, nil)
		}, tries},
		"failed, provable now": {func(in *Input) { in.Provable = true; record(in, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain, nil) }, rests},
		"failed, as it says": {func(in *Input) {
			record(in, v1alpha1.TrialRecommended, v1alpha1.ReasonGuardrailsOnly, func(r *v1alpha1.TrialRecord) { r.Purpose = v1alpha1.PurposePromote })
		}, rests},
		"measured": {func(in *Input) {
			record(in, v1alpha1.TrialMeasured, "Newer", func(r *v1alpha1.TrialRecord) { r.Purpose = v1alpha1.PurposeMeasure })
		}, tries},
		"superseded": {func(in *Input) { record(in, v1alpha1.TrialReverted, v1alpha1.ReasonSuperseded, nil) }, tries},
		"promoted before the sweep": {func(in *Input) {
			record(in, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted, func(r *v1alpha1.TrialRecord) { r.EndedAt = metav1.NewTime(now.Add(-time.Second)) })
		}, tries},
		"listed as failed": {func(in *Input) {
			in.Rejected = []v1alpha1.Rejection{{Settings: picked.API(), Footing: in.Footing.API(), Until: later()}}
		}, rests},
		"no room any more": {func(in *Input) { in.Observed.LiveHeapBytes = present(500 * mebibyte) }, rests},
		"a new footing":    {func(in *Input) { in.Footing.MemoryLimitBytes *= 2 }, begins},
		"a new rung":       {func(in *Input) { in.Strategy.Ladder = []int32{50, 150} }, begins},
		"fewer rungs":      {func(in *Input) { in.Strategy.Ladder = []int32{50} }, tries},
		"an unreadable footing": {func(in *Input) {
			in.Sweep.Footing.Declared = settings.Settings{MemoryLimitBytes: -1}.API()
		}, begins},
	}
	for name, test := range tests {
		in := sweeping(50, 100, 200)
		sweep(t, &in, asModelled)
		before := in.Sweep.DeepCopy()
		test.edit(&in)
		got := Propose(in)
		said := rests
		switch {
		case got.Sweep != nil && len(got.Sweep.Rungs) == 0 && got.Purpose == v1alpha1.PurposeMeasure:
			said = begins
		case got.Candidate != nil:
			said = tries
		case !strings.Contains(got.Reason, "the sweep is complete") || got.Sweep != nil:
			said = got.Reason
		}
		if said != test.want {
			t.Errorf("%s: %s, want %s", name, said, test.want)
		}
		if name != "an unreadable footing" && cmp.Diff(before, in.Sweep) != "" {
			t.Errorf("%s: the table that was given changed", name)
		}
	}
}
