package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestSettingsOf(t *testing.T) {
	const maxAge = 50 * time.Second
	created := now.Add(-10 * time.Minute)
	both := settings.Settings{GOGC: 150, MemoryLimitBytes: 483183821}
	process := func(gogc, limit signal.Value) signal.Pod {
		return signal.Pod{
			Sampled: true, SampleAge: time.Second, GOGCPercent: gogc, MemoryLimitBytes: limit,
			ProcessStartSeconds: present(float64(created.Unix() + 2)),
		}
	}
	startedAt := func(seconds float64) signal.Pod {
		pod := process(present(150), present(483183821))
		pod.ProcessStartSeconds = present(seconds)
		return pod
	}
	edited := func(edit func(*signal.Pod)) signal.Pod {
		pod := process(present(150), present(483183821))
		edit(&pod)
		return pod
	}
	absent := signal.Value{}
	processors := func(value signal.Value) signal.Pod {
		return edited(func(pod *signal.Pod) { pod.GOMAXPROCS = value })
	}
	three := settings.Settings{GOGC: 150, GOMAXPROCS: 3}
	tests := map[string]struct {
		pod     signal.Pod
		want    settings.Settings
		is      Application
		message string
	}{
		"applied":                            {process(present(150), present(483183821)), both, Applied, ""},
		"limit rounded in text":              {process(present(150), present(4.831838e8)), both, Applied, ""},
		"limit a millionth off":              {process(present(150), present(483183821*(1+0.9e-6))), both, Applied, ""},
		"limit more than that off":           {process(present(150), present(483183821*(1+1.1e-6))), both, Overridden, "GOMEMLIMIT=483184353"},
		"limit less than that off":           {process(present(150), present(483183821*(1-1.1e-6))), both, Overridden, "GOMEMLIMIT"},
		"GOGC set in code":                   {process(present(100), present(483183821)), both, Overridden, "GOGC=100 where its environment says 150"},
		"GOGC off in code":                   {process(present(1.8446744073709552e19), present(483183821)), both, Overridden, "GOGC=off"},
		"limit unset in code":                {process(present(150), present(math.MaxInt64)), both, Overridden, "GOMEMLIMIT=off"},
		"only the limit is overridden":       {process(absent, present(1)), both, Overridden, "GOMEMLIMIT=1 "},
		"off as the largest uint64":          {process(present(1.8446744073709552e19), absent), settings.Settings{GOGC: settings.Off}, Applied, ""},
		"off as -1":                          {process(present(-1), absent), settings.Settings{GOGC: settings.Off}, Applied, ""},
		"off wanted, 100 found":              {process(present(100), absent), settings.Settings{GOGC: settings.Off}, Overridden, "GOGC=100"},
		"no gauge of GOGC":                   {process(absent, present(483183821)), both, Unreported, "its environment counts"},
		"no gauge of the limit":              {process(present(150), absent), both, Unreported, "its environment counts"},
		"GOGC of two processes":              {process(signal.Value{Number: 150, State: signal.Ambiguous}, absent), both, Unseen, "can't be used"},
		"GOGC not a number":                  {process(present(math.NaN()), absent), both, Unseen, "can't be used"},
		"limit of two processes":             {process(present(150), signal.Value{Number: 483183821, State: signal.Ambiguous}), both, Unseen, "can't be used"},
		"limit not a number":                 {process(present(150), present(math.NaN())), both, Unseen, "can't be used"},
		"limit infinite":                     {process(present(150), signal.Value{Number: math.Inf(1), State: signal.NotFinite}), both, Unseen, "can't be used"},
		"keys that are not set count not":    {process(present(999), present(1)), settings.Settings{}, Applied, ""},
		"GOGC alone":                         {process(present(150), present(1)), settings.Settings{GOGC: 150}, Applied, ""},
		"limit alone":                        {process(present(1), present(483183821)), settings.Settings{MemoryLimitBytes: 483183821}, Applied, ""},
		"as many processors":                 {processors(present(3)), three, Applied, ""},
		"more processors, set in code":       {processors(present(4)), three, Overridden, "GOMAXPROCS=4 where its environment says 3"},
		"fewer processors, set in code":      {processors(present(2)), three, Overridden, "GOMAXPROCS=2"},
		"no gauge of the processors":         {processors(absent), three, Unreported, "its environment counts"},
		"processors of two processes":        {processors(signal.Value{Number: 3, State: signal.Ambiguous}), three, Unseen, "GOMAXPROCS can't be used"},
		"processors left to the runtime":     {processors(present(4)), both, Applied, ""},
		"GODEBUG has no gauge":               {processors(absent), settings.Settings{GODEBUG: "disablethp=1"}, Applied, ""},
		"not sampled":                        {signal.Pod{}, both, Unseen, "no fresh sample"},
		"sample as old as may be":            {edited(func(p *signal.Pod) { p.SampleAge = maxAge }), both, Applied, ""},
		"sample a moment older":              {edited(func(p *signal.Pod) { p.SampleAge = maxAge + 1 }), both, Unseen, "no fresh sample"},
		"an older process":                   {startedAt(float64(created.Unix() - 6)), both, Unseen, "older process"},
		"clocks that differ a little":        {startedAt(float64(created.Unix() - 5)), both, Applied, ""},
		"process start unknown":              {edited(func(p *signal.Pod) { p.ProcessStartSeconds = absent }), both, Applied, ""},
		"an older process with other values": {edited(func(p *signal.Pod) { p.ProcessStartSeconds, p.GOGCPercent = present(1), present(25) }), both, Unseen, "older process"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			is, message := SettingsOf(test.pod, maxAge, test.want, created)
			if is != test.is || !strings.Contains(message, test.message) || (is == Applied) != (message == "") {
				t.Errorf("%s %q, want %s %q", is, message, test.is, test.message)
			}
		})
	}
}
