package settings

import "testing"

func TestOverlay(t *testing.T) {
	base := Settings{GOGC: 50, MemoryLimitBytes: 1024, GOMAXPROCS: 2, GODEBUG: "asyncpreemptoff=1,disablethp=0"}
	for name, test := range map[string]struct{ base, over, want Settings }{
		"nothing on nothing": {},
		"nothing":            {base: base, want: base},
		"on nothing":         {over: base, want: base},
		"all": {
			base: base, over: Settings{GOGC: Off, MemoryLimitBytes: 2048, GOMAXPROCS: 4, GODEBUG: "asyncpreemptoff=0,disablethp=1"},
			want: Settings{GOGC: Off, MemoryLimitBytes: 2048, GOMAXPROCS: 4, GODEBUG: "asyncpreemptoff=0,disablethp=1"},
		},
		"GOGC":       {base: base, over: Settings{GOGC: 75}, want: Settings{75, 1024, 2, "asyncpreemptoff=1,disablethp=0"}},
		"GOMEMLIMIT": {base: base, over: Settings{MemoryLimitBytes: 1}, want: Settings{50, 1, 2, "asyncpreemptoff=1,disablethp=0"}},
		"GOMAXPROCS": {base: base, over: Settings{GOMAXPROCS: 1}, want: Settings{50, 1024, 1, "asyncpreemptoff=1,disablethp=0"}},
		"one key of GODEBUG": {
			base: base, over: Settings{GODEBUG: "disablethp=1"}, want: Settings{50, 1024, 2, "asyncpreemptoff=1,disablethp=1"},
		},
		"another key of GODEBUG": {
			base: base, over: Settings{GODEBUG: "madvdontneed=0"}, want: Settings{50, 1024, 2, "asyncpreemptoff=1,disablethp=0,madvdontneed=0"},
		},
	} {
		if got := test.base.Overlay(test.over); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
