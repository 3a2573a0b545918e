package settings

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
	f.Add("GODEBUG=disablethp=1,GODEBUG=disablethp=1")
	f.Add("GOMAXPROCS=1,GODEBUG=disablethp=1,gctrace=1")
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

func FuzzParseGOMAXPROCS(f *testing.F) {
	for _, text := range processorValues {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseGOMAXPROCS(text)
		runtimeReads, runtimeErr := strconv.ParseInt(text, 10, 32)
		taken := runtimeErr == nil && runtimeReads > 0 // runtime/proc.go, schedinit
		switch {
		case text == "":
			if got != 0 || err != nil {
				t.Errorf("an empty value gives %d, %v", got, err)
			}
		case taken != (err == nil) || taken && int64(got) != runtimeReads || !taken && got != 0:
			t.Errorf("%q: %d, %v, but the runtime reads %d, %v", text, got, err, runtimeReads, runtimeErr)
		}
	})
}

// fuzzedGODEBUG are managed keys as a fuzzer may ask for them: each absent, 0 or 1.
func fuzzedGODEBUG(choice uint8) string {
	var fields []string
	for _, name := range []string{"asyncpreemptoff", "disablethp", "madvdontneed"} {
		if digit := choice % 3; digit > 0 {
			fields = append(fields, name+"="+strconv.Itoa(int(digit-1)))
		}
		choice /= 3
	}
	return strings.Join(fields, ",")
}

// runtimeGODEBUG reads a value as the runtime does at start: left to right, and what it can't read it passes over (runtime/runtime1.go, parsegodebug).
func runtimeGODEBUG(text string) map[string]bool {
	values := map[string]bool{}
	for _, field := range strings.Split(text, ",") {
		i := strings.IndexByte(field, '=')
		if i < 0 || !managedField.MatchString(field) {
			continue
		}
		if n, err := strconv.ParseInt(field[i+1:], 10, 32); err == nil {
			values[field[:i]] = n != 0
		}
	}
	return values
}

func FuzzGODEBUG(f *testing.F) {
	for i, value := range godebugValues {
		f.Add(value.text, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint8) {
		declared, err := ParseGODEBUG(text)
		if err != nil && declared != "" {
			t.Errorf("%q: %q along with an error", text, declared)
		}
		if diff := cmp.Diff(runtimeGODEBUG(text), runtimeGODEBUG(declared)); err == nil && diff != "" {
			t.Errorf("%q is read as %q (-runtime +parsed):\n%s", text, declared, diff)
		}
		wanted := fuzzedGODEBUG(choice)
		merged := MergeGODEBUG(text, wanted)
		if got, err := ParseGODEBUG(merged); err != nil || got != wanted {
			t.Errorf("%q with %q: %q, which reads %q, %v", text, wanted, merged, got, err)
		}
		if before, after := foreignGODEBUG(text), foreignGODEBUG(merged); before != after {
			t.Errorf("%q with %q: %q: foreign keys %q became %q", text, wanted, merged, before, after)
		}
		if again := MergeGODEBUG(merged, wanted); again != merged {
			t.Errorf("%q with %q: %q, and merged again %q", text, wanted, merged, again)
		}
		if back := MergeGODEBUG(merged, declared); err == nil && foreignGODEBUG(back) != foreignGODEBUG(text) {
			t.Errorf("%q with %q and back: %q", text, wanted, back)
		}
	})
}

// FuzzApplyGODEBUG goes by way of a container's environment.
func FuzzApplyGODEBUG(f *testing.F) {
	for i, value := range godebugValues {
		f.Add(value.text, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint8) {
		container := corev1.Container{Env: []corev1.EnvVar{variable("PORT", "80"), variable(EnvGODEBUG, text), variable("LAST", "1")}}
		s := Settings{GODEBUG: fuzzedGODEBUG(choice)}
		after := corev1.Container{Env: s.Apply(container.Env)}
		if len(Unmanageable(&container)) > 0 {
			if diff := cmp.Diff(container.Env, after.Env); diff != "" {
				t.Errorf("what can't be told was changed (-before +after):\n%s", diff)
			}
			return
		}
		if got, err := Declared(&after); err != nil || got != s {
			t.Errorf("%q with %+v declares %+v, %v", text, s, got, err)
		}
		for _, v := range after.Env {
			if v.Name == EnvGODEBUG && v.Value == "" {
				t.Errorf("%q with %+v leaves an empty GODEBUG", text, s)
			}
		}
		if diff := cmp.Diff(unmanaged(container.Env), unmanaged(after.Env)); diff != "" {
			t.Errorf("%q with %+v changed what is foreign (-before +after):\n%s", text, s, diff)
		}
	})
}
