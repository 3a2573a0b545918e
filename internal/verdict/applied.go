package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

// Application says whether a process runs the settings that its pod was given.
type Application string

const (
	// Applied says that the runtime's own gauges show the settings.
	Applied Application = "Applied"
	// Unseen says that no fresh sample of the process has come yet.
	Unseen Application = "Unseen"
	// Unreported says that the process exposes no such gauge; the pod's environment has to do.
	Unreported Application = "Unreported"
	// Overridden says that the process runs something else: it sets the value in code.
	Overridden Application = "Overridden"
)

// limitTolerance: Prometheus holds a limit as a float64, and text formats round.
const limitTolerance = 1e-6

// offAbove: client_golang exports GOGC=off as the largest uint64, and an unset memory limit as the largest int64.
const offAbove = 1e18

// clockSkew between the node that stamps the process start and the API server that stamps the pod's creation.
const clockSkew = 5 * time.Second

// SettingsOf compares the gauges of a process with the settings that it should run. Keys that want does not set are not compared.
func SettingsOf(pod signal.Pod, maxAge time.Duration, want settings.Settings, podCreatedAt time.Time) (Application, string) {
	if !pod.Sampled || pod.SampleAge > maxAge {
		return Unseen, "no fresh sample of the process"
	}
	if pod.ProcessStartSeconds.OK() && pod.ProcessStartSeconds.Number < float64(podCreatedAt.Add(-clockSkew).Unix()) {
		return Unseen, "the samples are those of an older process"
	}
	unreported := false
	if got := pod.GOGCPercent; want.GOGC != 0 {
		switch {
		case got.State == signal.Absent:
			unreported = true
		case !got.OK() || math.IsNaN(got.Number):
			return Unseen, "the samples of the process's GOGC can't be used"
		case !sameGOGC(want.GOGC, got.Number):
			return Overridden, fmt.Sprintf("the process runs GOGC=%s where its environment says %s: it sets the value in code", gogcText(got.Number), want.GOGC)
		}
	}
	if got := pod.MemoryLimitBytes; want.MemoryLimitBytes != 0 {
		switch {
		case got.State == signal.Absent:
			unreported = true
		case !got.OK() || math.IsNaN(got.Number):
			return Unseen, "the samples of the process's GOMEMLIMIT can't be used"
		case math.Abs(got.Number-float64(want.MemoryLimitBytes)) > limitTolerance*float64(want.MemoryLimitBytes):
			return Overridden, fmt.Sprintf("the process runs GOMEMLIMIT=%s where its environment says %d: it sets the value in code", limitText(got.Number), want.MemoryLimitBytes)
		}
	}
	if unreported {
		return Unreported, "the process exposes no gauge of its settings; its environment counts"
	}
	return Applied, ""
}

func sameGOGC(want settings.GOGC, got float64) bool {
	if want == settings.Off {
		return got > offAbove || got < 0
	}
	return got == float64(want)
}

func gogcText(got float64) string {
	if got > offAbove || got < 0 {
		return "off"
	}
	return fmt.Sprintf("%.0f", got)
}

func limitText(got float64) string {
	if got > offAbove {
		return "off"
	}
	return fmt.Sprintf("%.0f", got)
}
