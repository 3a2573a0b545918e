// Package condition parses and evaluates the conditions by which the service under test switches its faults on: one
// comparison of a runtime setting, as the process received it in its environment, with a constant.
//
//	condition = name operator value
//	name      = "GOGC" | "GOMEMLIMIT" | "GOMAXPROCS"
//	operator  = "<" | "<=" | "=" | "!=" | ">=" | ">"
//	value     = "off" | digits [ "B" | "KiB" | "MiB" | "GiB" | "TiB" ]
//
// There are no blanks. A unit is allowed for GOMEMLIMIT only, "off" for GOGC and GOMEMLIMIT only. "off" is greater than
// every number, because it means "no collection by growth" and "no limit".
package condition

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Off is what "off" counts as in a comparison.
const Off int64 = math.MaxInt64

// Form describes the grammar in one line, for messages to a person.
const Form = "a comparison without blanks, such as GOGC>100, GOMEMLIMIT<64MiB or GOMAXPROCS=1"

var (
	conditionPattern = regexp.MustCompile(`^(GOGC|GOMEMLIMIT|GOMAXPROCS)(<=|>=|!=|<|>|=)([0-9A-Za-z]+)$`)
	numberPattern    = regexp.MustCompile(`^([0-9]+)((?:[KMGT]i)?B)?$`)
)

// unitShift says by how many bits a unit shifts a number, as GOMEMLIMIT has it.
var unitShift = map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}

// Condition is a parsed comparison.
type Condition struct {
	name     string
	operator string
	value    int64
}

// Parse reads a condition; its error says which form is allowed.
func Parse(text string) (Condition, error) {
	match := conditionPattern.FindStringSubmatch(text)
	if match == nil {
		return Condition{}, fmt.Errorf("%q is no condition: write %s", text, Form)
	}
	value, err := parseValue(match[1], match[3])
	if err != nil {
		return Condition{}, fmt.Errorf("%q: %w", text, err)
	}
	return Condition{name: match[1], operator: match[2], value: value}, nil
}

func parseValue(name, text string) (int64, error) {
	if text == "off" {
		if name == "GOMAXPROCS" {
			return 0, fmt.Errorf("GOMAXPROCS can't be off: compare it with a whole number")
		}
		return Off, nil
	}
	match := numberPattern.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("%q is no value: write digits, or off, or for GOMEMLIMIT digits with B, KiB, MiB, GiB or TiB", text)
	}
	if match[2] != "" && name != "GOMEMLIMIT" {
		return 0, fmt.Errorf("%s takes no unit: write digits only", name)
	}
	number, err := strconv.ParseInt(match[1], 10, 64)
	shift := unitShift[match[2]]
	if err != nil || number > Off>>shift {
		return 0, fmt.Errorf("%q is too large: write at most %d bytes", text, Off)
	}
	return number << shift, nil
}

// Holds tells whether the comparison is true of an environment.
func (c Condition) Holds(environment Environment) bool {
	got := environment.value(c.name)
	switch c.operator {
	case "<":
		return got < c.value
	case "<=":
		return got <= c.value
	case "=":
		return got == c.value
	case "!=":
		return got != c.value
	case ">=":
		return got >= c.value
	case ">":
		return got > c.value
	default: // the zero Condition compares nothing
		return false
	}
}

// String writes the condition so that Parse reads it back.
func (c Condition) String() string {
	if c.value == Off && c.name != "GOMAXPROCS" {
		return c.name + c.operator + "off"
	}
	return c.name + c.operator + strconv.FormatInt(c.value, 10)
}
