package settings

import "testing"

// TestUndo: of each key what was given goes back to what was declared, and what came from elsewhere since stays.
func TestUndo(t *testing.T) {
	given, declared := Settings{150, 1024, 4, "disablethp=1"}, Settings{GOGC: 25, GODEBUG: "disablethp=0"}
	for _, test := range []struct{ now, want Settings }{
		{given, declared},
		{Settings{70, 1024, 4, "disablethp=1"}, Settings{GOGC: 70, GODEBUG: "disablethp=0"}},
		{Settings{150, 2048, 4, "disablethp=1"}, Settings{GOGC: 25, MemoryLimitBytes: 2048, GODEBUG: "disablethp=0"}},
		{Settings{150, 1024, 2, "disablethp=1"}, Settings{GOGC: 25, GOMAXPROCS: 2, GODEBUG: "disablethp=0"}},
		{Settings{150, 1024, 4, "madvdontneed=1"}, Settings{GOGC: 25, GODEBUG: "madvdontneed=1"}},
		{Settings{}, Settings{}},
	} {
		if got := test.now.Undo(given, declared); got != test.want {
			t.Errorf("%+v: %+v, want %+v", test.now, got, test.want)
		}
	}
}
