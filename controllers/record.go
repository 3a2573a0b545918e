package controllers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

// maxHistory is what the CRD admits.
const maxHistory = 10

// record remembers a trial that has ended: in the history, as a rejection, in the table of a sweep, as a recommendation, and in the cooldown.
func (p *pass) record(record v1alpha1.TrialRecord) {
	status := &p.policy.Status
	status.History = append([]v1alpha1.TrialRecord{record}, status.History...)
	status.History = status.History[:min(len(status.History), maxHistory)]
	status.Rejected = tuning.Reject(status.Rejected, record, p.goVersion(), p.now)
	if record.Purpose == v1alpha1.PurposeMeasure {
		p.fillRung(record)
	}
	if record.Result == v1alpha1.TrialRecommended {
		status.Recommendation = &v1alpha1.Recommendation{
			Settings: record.Candidate, Reason: record.Message, Verdict: record.Verdict, At: record.EndedAt,
		}
	}
	p.forgetRecommendation(record)
	if record.Result == v1alpha1.TrialMeasured {
		return // the next rung needs no rest: every pod runs the baseline again
	}
	until := metav1.NewTime(p.now.Add(tuning.NextCooldown(p.plan.cooldown, status.History)))
	status.CooldownUntil = &until
}

// forgetRecommendation drops what is the baseline now, and what did harm after all, once a person had approved it: else it would be promoted
// again and again.
func (p *pass) forgetRecommendation(record v1alpha1.TrialRecord) {
	recommended, ok := p.recommended()
	candidate, err := settings.FromAPI(record.Candidate)
	harmed := record.Result == v1alpha1.TrialReverted && !tuning.CameFromOutside(record.Reason)
	if ok && err == nil && candidate == recommended && (harmed || record.Result == v1alpha1.TrialPromoted) {
		p.policy.Status.Recommendation = nil
	}
}

// fillRung puts a rung into the sweep's table that went back for what it did before it was measured. One that something else ended is
// measured again.
func (p *pass) fillRung(record v1alpha1.TrialRecord) {
	if tuning.CameFromOutside(record.Reason) {
		return
	}
	if gogc, ok := rungOf(record.Candidate); ok && !p.hasRung(gogc) {
		p.addRung(tuning.FailedRung(gogc, record.Reason))
	}
}

// keepMeasured puts into the status what a trial measured that was there to measure.
func (p *pass) keepMeasured(trial *v1alpha1.Trial, measured rollout.Measured) {
	switch trial.Purpose {
	case v1alpha1.PurposeCalibrate:
		names := slices.Concat(measured.Canary, measured.Control)
		p.policy.Status.Calibration = &v1alpha1.Calibration{
			At: metav1.NewTime(p.now), Footing: trial.Footing, Pods: int32(len(names)), Spreads: verdict.Spreads(&measured.Window, membersNamed(names)),
		}
	case v1alpha1.PurposeMeasure:
		gogc, ok := rungOf(trial.Candidate)
		if !ok || measured.Reason != v1alpha1.ReasonMeasured {
			return
		}
		pods := make([]signal.Pod, 0, len(measured.Canary))
		for _, name := range measured.Canary {
			pods = append(pods, measured.Window.Pods[name])
		}
		p.addRung(tuning.MeasureRung(gogc, measured.Window, pods, p.plan.latencyThresholdSeconds()))
	}
}

func membersNamed(names []string) []verdict.Member {
	members := make([]verdict.Member, 0, len(names))
	for _, name := range names {
		members = append(members, verdict.Member{Name: name})
	}
	return members
}

// rungOf is the GOGC of a rung's candidate.
func rungOf(candidate v1alpha1.RuntimeSettings) (int32, bool) {
	parsed, err := settings.FromAPI(candidate)
	return int32(parsed.EffectiveGOGC()), err == nil && parsed.GOGC != settings.Off
}

func (p *pass) hasRung(gogc int32) bool {
	sweep := p.policy.Status.Sweep
	return sweep == nil || slices.ContainsFunc(sweep.Rungs, func(rung v1alpha1.Rung) bool { return rung.GOGC == gogc })
}

func (p *pass) addRung(rung v1alpha1.Rung) {
	if p.hasRung(rung.GOGC) {
		return
	}
	sweep := p.policy.Status.Sweep.DeepCopy()
	sweep.Rungs = append(sweep.Rungs, rung)
	slices.SortFunc(sweep.Rungs, func(a, b v1alpha1.Rung) int { return int(a.GOGC - b.GOGC) })
	p.policy.Status.Sweep = sweep
}
