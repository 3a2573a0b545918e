// Package settings knows the Go runtime's settings: how the runtime parses them, their canonical form and digest, and how they
// are written into a container's environment. It is pure.
package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Names of the environment variables that are managed.
const (
	EnvGOGC       = "GOGC"
	EnvGOMEMLIMIT = "GOMEMLIMIT"
	EnvGOMAXPROCS = "GOMAXPROCS"
	EnvGODEBUG    = "GODEBUG"
)

// Off is GOGC=off: no collection but for the memory limit's sake.
const Off GOGC = -1

// DefaultGOGC is what the runtime uses where GOGC is not set.
const DefaultGOGC GOGC = 100

// GOGC is a value of the variable in percent; 0 says that it is not set, Off that it is off.
type GOGC int32

// Settings is the complete set of managed runtime settings of one container. The zero value sets nothing.
type Settings struct {
	GOGC GOGC
	// MemoryLimitBytes is GOMEMLIMIT; 0 says that it is not set.
	MemoryLimitBytes int64
	// GOMAXPROCS is the number of processors that run Go code at once; 0 says that it is not set, and the runtime finds its own.
	GOMAXPROCS int32
	// GODEBUG holds the managed keys of the variable as ParseGODEBUG renders them, for example disablethp=1,madvdontneed=0; empty says that
	// none is set. It is text, so that settings can be compared by ==.
	GODEBUG string
}

// Overlay gives what over sets, and what it leaves out as s has it. GODEBUG is taken key by key.
func (s Settings) Overlay(over Settings) Settings {
	if over.GOGC != 0 {
		s.GOGC = over.GOGC
	}
	if over.MemoryLimitBytes != 0 {
		s.MemoryLimitBytes = over.MemoryLimitBytes
	}
	if over.GOMAXPROCS != 0 {
		s.GOMAXPROCS = over.GOMAXPROCS
	}
	s.GODEBUG = overlayGODEBUG(s.GODEBUG, over.GODEBUG)
	return s
}

// Undo gives what was there before a container got given: of each key what was declared, but where s, which is what the container has now, says
// something else than was given: that came from elsewhere, and stays.
func (s Settings) Undo(given, declared Settings) Settings {
	if s.GOGC == given.GOGC {
		s.GOGC = declared.GOGC
	}
	if s.MemoryLimitBytes == given.MemoryLimitBytes {
		s.MemoryLimitBytes = declared.MemoryLimitBytes
	}
	if s.GOMAXPROCS == given.GOMAXPROCS {
		s.GOMAXPROCS = declared.GOMAXPROCS
	}
	if s.GODEBUG == given.GODEBUG {
		s.GODEBUG = declared.GODEBUG
	}
	return s
}

// EffectiveGOGC is the GOGC that the runtime goes by: its default where none is set.
func (s Settings) EffectiveGOGC() GOGC {
	if s.GOGC == 0 {
		return DefaultGOGC
	}
	return s.GOGC
}

// String renders the value as the runtime reads it; empty where it is not set.
func (g GOGC) String() string {
	switch {
	case g == 0:
		return ""
	case g < 0:
		return "off"
	default:
		return strconv.Itoa(int(g))
	}
}

// Canonical is the one text form of the settings, for example GOGC=150,GOMEMLIMIT=483183820; empty where nothing is set. GODEBUG comes last,
// since its own keys are separated by commas too: GOMAXPROCS=2,GODEBUG=disablethp=1,madvdontneed=0.
func (s Settings) Canonical() string {
	var parts []string
	for _, entry := range s.Entries() {
		parts = append(parts, entry.Name+"="+entry.Value)
	}
	return strings.Join(parts, ",")
}

// Digest is a short name of the settings: ten hexadecimal digits.
func (s Settings) Digest() string {
	sum := sha256.Sum256([]byte(s.Canonical()))
	return hex.EncodeToString(sum[:5])
}

// Entry is one environment variable.
type Entry struct{ Name, Value string }

// Entries are the variables to set, in a stable order. GOMEMLIMIT is plain bytes: the runtime dies at start of a Kubernetes
// quantity such as 512Mi (runtime: malformed GOMEMLIMIT). GODEBUG has the managed keys only: Apply merges it with what a container has.
func (s Settings) Entries() []Entry {
	var entries []Entry
	if s.GOGC != 0 {
		entries = append(entries, Entry{EnvGOGC, s.GOGC.String()})
	}
	if s.MemoryLimitBytes != 0 {
		entries = append(entries, Entry{EnvGOMEMLIMIT, strconv.FormatInt(s.MemoryLimitBytes, 10)})
	}
	if s.GOMAXPROCS != 0 {
		entries = append(entries, Entry{EnvGOMAXPROCS, strconv.FormatInt(int64(s.GOMAXPROCS), 10)})
	}
	if s.GODEBUG != "" {
		entries = append(entries, Entry{EnvGODEBUG, s.GODEBUG})
	}
	return entries
}

// ParseCanonical reads what Canonical writes.
func ParseCanonical(text string) (Settings, error) {
	var s Settings
	if text == "" {
		return s, nil
	}
	for rest, more := text, true; more; {
		var part string
		if strings.HasPrefix(rest, EnvGODEBUG+"=") {
			part, more = rest, false
		} else {
			part, rest, more = strings.Cut(rest, ",")
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return Settings{}, fmt.Errorf("settings %q: %q has no value", text, part)
		}
		if err := s.set(name, value); err != nil {
			return Settings{}, fmt.Errorf("settings %q: %w", text, err)
		}
	}
	if s.Canonical() != text {
		return Settings{}, fmt.Errorf("settings %q: not in canonical form, which is %q", text, s.Canonical())
	}
	return s, nil
}

func (s *Settings) set(name, value string) error {
	var err error
	switch name {
	case EnvGOGC:
		s.GOGC, err = ParseGOGC(value)
	case EnvGOMEMLIMIT:
		s.MemoryLimitBytes, err = ParseMemoryLimit(value)
	case EnvGOMAXPROCS:
		s.GOMAXPROCS, err = ParseGOMAXPROCS(value)
	case EnvGODEBUG:
		s.GODEBUG, err = ParseGODEBUG(value)
	default:
		err = fmt.Errorf("%q is not a managed variable", name)
	}
	return err
}

// ParseGOGC reads a value of GOGC. Where the runtime would silently fall back to 100 (runtime/mgcpacer.go, readGOGC), or collect
// without pause at 0, it is an error. An empty value is the same as none.
func ParseGOGC(text string) (GOGC, error) {
	switch text {
	case "":
		return 0, nil
	case "off":
		return Off, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("GOGC=%q: want a whole number of percent, or off; the runtime reads this as 100", text)
	}
	switch {
	case n < 0:
		return Off, nil // any negative percentage turns the collector off, as debug.SetGCPercent documents
	case n == 0:
		return 0, fmt.Errorf("GOGC=%q: the collector would never rest", text)
	}
	return GOGC(n), nil
}

// ParseGOMAXPROCS reads a value of GOMAXPROCS. Where the runtime would silently go by its own number of processors instead (runtime/proc.go,
// schedinit: what is no number, and what is not above 0), it is an error. An empty value is the same as none.
func ParseGOMAXPROCS(text string) (int32, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("GOMAXPROCS=%q: want a whole number from 1 on; the runtime ignores this", text)
	}
	return int32(n), nil
}

// ParseMemoryLimit reads a value of GOMEMLIMIT in the runtime's own grammar, ^[0-9]+(([KMGT]i)?B)?$ or off (runtime/string.go,
// parseByteCount, which lets a sign pass too). Off and the largest int64 mean no limit, and give 0, like an empty value.
func ParseMemoryLimit(text string) (int64, error) {
	if text == "" || text == "off" {
		return 0, nil
	}
	digits, unit := cutUnit(text)
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax) || n < 0:
		return 0, fmt.Errorf("GOMEMLIMIT=%q: want bytes, or a number with B, KiB, MiB, GiB or TiB; the runtime stops at start with this", text)
	case err != nil || n > math.MaxInt64/unit:
		return 0, fmt.Errorf("GOMEMLIMIT=%q: more bytes than an int64 holds; the runtime stops at start with this", text)
	case n == 0:
		return 0, fmt.Errorf("GOMEMLIMIT=%q: the collector would never rest", text)
	}
	return limited(n * unit), nil
}

// limited turns the number by which the runtime says that there is no limit into 0.
func limited(bytes int64) int64 {
	if bytes == math.MaxInt64 {
		return 0
	}
	return bytes
}

func cutUnit(text string) (digits string, unit int64) {
	rest, ok := strings.CutSuffix(text, "B")
	if !ok {
		return text, 1
	}
	for i, prefix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if number, found := strings.CutSuffix(rest, prefix); found {
			return number, int64(1) << (10 * (i + 1))
		}
	}
	return rest, 1
}
