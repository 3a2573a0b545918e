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

// SettingsOf compares the gauges of a process with the settings that it should run. Keys that want does not set are not compared;
// nor is GODEBUG, of which a process shows nothing: its environment counts.
func SettingsOf(pod signal.Pod, maxAge time.Duration, want settings.Settings, podCreatedAt time.Time) (Application, string) {
	if !pod.Sampled || pod.SampleAge > maxAge {
		return Unseen, "no fresh sample of the process"
	}
	if pod.ProcessStartSeconds.OK() && pod.ProcessStartSeconds.Number < float64(podCreatedAt.Add(-clockSkew).Unix()) {
		return Unseen, "the samples are those of an older process"
	}
	gauges := []gauge{
		{want.GOGC != 0, settings.EnvGOGC, pod.GOGCPercent, want.GOGC.String(), gogcText,
			func(got float64) bool { return sameGOGC(want.GOGC, got) }},
		{want.MemoryLimitBytes != 0, settings.EnvGOMEMLIMIT, pod.MemoryLimitBytes, fmt.Sprint(want.MemoryLimitBytes), limitText,
			func(got float64) bool { return sameLimit(want.MemoryLimitBytes, got) }},
		{want.GOMAXPROCS != 0, settings.EnvGOMAXPROCS, pod.GOMAXPROCS, fmt.Sprint(want.GOMAXPROCS), wholeText,
			func(got float64) bool { return got == float64(want.GOMAXPROCS) }},
	}
	seen, message := Applied, ""
	for _, gauge := range gauges {
		switch one, why := gauge.compare(); one {
		case Unseen, Overridden:
			return one, why
		case Unreported:
			seen, message = one, why
		}
	}
	return seen, message
}

// gauge is what a process shows of one key.
type gauge struct {
	wanted bool
	key    string
	got    signal.Value
	want   string
	text   func(float64) string
	same   func(float64) bool
}

func (g gauge) compare() (Application, string) {
	switch {
	case !g.wanted:
		return Applied, ""
	case g.got.State == signal.Absent:
		return Unreported, "the process exposes no gauge of its settings; its environment counts"
	case !g.got.OK() || math.IsNaN(g.got.Number):
		return Unseen, fmt.Sprintf("the samples of the process's %s can't be used", g.key)
	case !g.same(g.got.Number):
		return Overridden, fmt.Sprintf("the process runs %s=%s where its environment says %s: it sets the value in code", g.key, g.text(g.got.Number), g.want)
	}
	return Applied, ""
}

func sameLimit(want int64, got float64) bool {
	return math.Abs(got-float64(want)) <= limitTolerance*float64(want)
}

func sameGOGC(want settings.GOGC, got float64) bool {
	if want == settings.Off {
		return gogcOff(got)
	}
	return got == float64(want)
}

func gogcText(got float64) string {
	if gogcOff(got) {
		return "off"
	}
	return wholeText(got)
}

func limitText(got float64) string {
	if got > offAbove {
		return "off"
	}
	return wholeText(got)
}

func wholeText(got float64) string { return fmt.Sprintf("%.0f", got) }

// gogcOff says that the gauge shows GOGC=off.
func gogcOff(got float64) bool { return got > offAbove || got < 0 }
