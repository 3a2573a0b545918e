package settings

import (
	"strconv"
	"testing"
)

func FuzzParseGOGC(f *testing.F) {
	for _, text := range gogcValues {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseGOGC(text)
		if err != nil {
			if got != 0 {
				t.Errorf("%q: %d along with an error", text, got)
			}
			return
		}
		again, err := ParseGOGC(got.String())
		if err != nil || again != got {
			t.Errorf("%q: rendered as %q, which reads %d, %v", text, got, again, err)
		}
		// What is accepted means to the runtime what it means here (runtime/mgcpacer.go, readGOGC).
		runtimeReads, err := strconv.ParseInt(text, 10, 32)
		switch {
		case text == "off" || err == nil && runtimeReads < 0:
			if got != Off {
				t.Errorf("%q: %d, but the runtime reads off", text, got)
			}
		case text == "":
			if got != 0 {
				t.Errorf("an empty value sets %d", got)
			}
		case err != nil || int64(got) != runtimeReads:
			t.Errorf("%q: %d, but the runtime reads %d, %v", text, got, runtimeReads, err)
		}
	})
}

func FuzzParseMemoryLimit(f *testing.F) {
	for _, text := range memoryLimitValues {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseMemoryLimit(text)
		want, wantErr := referenceMemoryLimit(text)
		checkError(t, text, err, wantErr)
		if got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
		for _, entry := range (Settings{MemoryLimitBytes: got}).Entries() {
			again, err := ParseMemoryLimit(entry.Value)
			if err != nil || again != got {
				t.Errorf("%q: rendered as %q, which reads %d, %v", text, entry.Value, again, err)
			}
		}
	})
}

func FuzzParseCanonical(f *testing.F) {
	for _, test := range rendered {
		f.Add(test.canonical)
	}
	f.Add("GOGC=150,GOGC=150")
	f.Add("GOGC=+1,GOMEMLIMIT=1KiB")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseCanonical(text)
		if err != nil {
			if s != (Settings{}) {
				t.Errorf("%q: %+v along with an error", text, s)
			}
			return
		}
		if s.Canonical() != text {
			t.Errorf("%q is accepted, but its canonical form is %q", text, s.Canonical())
		}
		for _, entry := range s.Entries() {
			var again Settings
			if err := again.set(entry.Name, entry.Value); err != nil {
				t.Errorf("%q renders %s=%s, which is refused: %v", text, entry.Name, entry.Value, err)
			}
		}
	})
}
