package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"strconv"
	"time"

	"github.com/gopacer/gopacer/test/workload/condition"
)

// metricsLevel says which of the Go collector's metrics the service exposes.
type metricsLevel int

const (
	runtimeMetrics   metricsLevel = iota // the default metrics and runtime/metrics
	defaultGoMetrics                     // what the collector has without options
	noGoMetrics
)

// settings is everything that the environment decides.
type settings struct {
	listen        string
	liveHeapBytes int
	documentLines int
	cacheEmpties  bool // at every garbage collection
	drain         time.Duration
	metrics       metricsLevel

	leakBytesPerSecond, leakGoroutinesPerSecond int

	overrideGOGC   *int   // nil: the app leaves GOGC to its environment
	crashCondition string // empty: the process does not crash
	slow, failing  *share
	slowBy         time.Duration
}

// readSettings reads the environment. Its error lists every bad variable, with the value and the allowed form.
func readSettings(lookup func(string) (string, bool)) (settings, error) {
	from := variables{
		lookup:  lookup,
		runtime: condition.ReadEnvironment(lookup, runtime.GOMAXPROCS(0)),
	}
	read := settings{
		listen:        from.address("LISTEN", ":8080"),
		liveHeapBytes: from.integer("LIVE_HEAP_MB", 40, 1, 65536) << 20,
		documentLines: from.integer("DOCUMENT_LINES", 40, 1, 100000),
		cacheEmpties:  from.flag("CACHE_UNTIL_COLLECTION"),
		drain:         from.duration("DRAIN", 2*time.Second),
		overrideGOGC:  from.percent("OVERRIDE_GOGC"),
		slow:          from.shareWhen("SLOW_SHARE", "SLOW_WHEN"),
		slowBy:        from.duration("SLOW_BY", 300*time.Millisecond),
		failing:       from.shareWhen("ERROR_SHARE", "ERROR_WHEN"),

		leakBytesPerSecond:      from.integer("LEAK_BYTES_PER_SECOND", 0, 0, math.MaxInt32),
		leakGoroutinesPerSecond: from.integer("LEAK_GOROUTINES_PER_SECOND", 0, 0, 10000),
	}
	if text, holds := from.condition("CRASH_WHEN"); holds {
		read.crashCondition = text
	}
	if from.flag("NO_RUNTIME_METRICS") {
		read.metrics = defaultGoMetrics
	}
	if from.flag("NO_GO_METRICS") {
		read.metrics = noGoMetrics
	}
	return read, errors.Join(from.problems...)
}

// variables reads typed values and collects what is wrong with them, so that one start shows every mistake.
type variables struct {
	lookup   func(string) (string, bool)
	runtime  condition.Environment
	problems []error
}

func (v *variables) refuse(name, value, form string) {
	v.problems = append(v.problems, fmt.Errorf("%s=%q: write %s", name, value, form))
}

// text returns a variable's value; one set to nothing counts as unset, as in a manifest with an empty value.
func (v *variables) text(name string) (string, bool) {
	value, _ := v.lookup(name)
	return value, value != ""
}

func (v *variables) address(name, fallback string) string {
	value, found := v.text(name)
	if !found {
		return fallback
	}
	if _, _, err := net.SplitHostPort(value); err != nil {
		v.refuse(name, value, "host:port, such as :8080")
	}
	return value
}

func (v *variables) integer(name string, fallback, low, high int) int {
	value, found := v.text(name)
	if !found {
		return fallback
	}
	number, err := strconv.Atoi(value)
	if err != nil || number < low || number > high {
		v.refuse(name, value, fmt.Sprintf("a whole number from %d to %d", low, high))
	}
	return number
}

func (v *variables) percent(name string) *int {
	value, found := v.text(name)
	if !found {
		return nil
	}
	number, err := strconv.Atoi(value)
	if value == "off" {
		number, err = -1, nil
	} else if err == nil && number < 1 {
		err = strconv.ErrRange
	}
	if err != nil {
		v.refuse(name, value, "off or a whole number from 1, such as 100")
	}
	return &number
}

func (v *variables) duration(name string, fallback time.Duration) time.Duration {
	value, found := v.text(name)
	if !found {
		return fallback
	}
	duration, err := time.ParseDuration(value)
	if err != nil || duration < 0 {
		v.refuse(name, value, "a duration, such as 300ms or 2s")
	}
	return duration
}

// condition reads a condition and tells whether it holds; one that is not set does not hold.
func (v *variables) condition(name string) (text string, holds bool) {
	text, found := v.text(name)
	if !found {
		return "", false
	}
	parsed, err := condition.Parse(text)
	if err != nil {
		v.refuse(name, text, condition.Form)
	}
	return text, parsed.Holds(v.runtime)
}

// shareWhen reads a share of the requests, which is none where a condition is set and does not hold.
func (v *variables) shareWhen(shareName, conditionName string) *share {
	_, conditional := v.text(conditionName)
	_, holds := v.condition(conditionName)
	value, found := v.text(shareName)
	if !found {
		return new(share)
	}
	fraction, err := strconv.ParseFloat(value, 64)
	if err != nil || !(fraction >= 0 && fraction <= 1) { // the negation also catches NaN
		v.refuse(shareName, value, "a number from 0 to 1, such as 0.1")
		return new(share)
	}
	if conditional && !holds {
		return new(share)
	}
	return newShare(fraction)
}

func (v *variables) flag(name string) bool {
	value, found := v.text(name)
	if found && value != "0" && value != "1" {
		v.refuse(name, value, "0 or 1")
	}
	return value == "1"
}
