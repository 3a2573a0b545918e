package condition

import "strconv"

// defaultGOGC is what the runtime takes when GOGC is unset or malformed.
const defaultGOGC = 100

// Environment holds the runtime settings as a process got them, not as it may have overridden them since.
type Environment struct {
	GOGC       int64
	GOMEMLIMIT int64
	GOMAXPROCS int64
}

// ReadEnvironment reads the settings as the runtime does: what is unset or malformed counts as the runtime's default.
// processors is the runtime's own choice of GOMAXPROCS, which counts where the environment has none.
func ReadEnvironment(lookup func(string) (string, bool), processors int) Environment {
	environment := Environment{GOGC: defaultGOGC, GOMEMLIMIT: Off, GOMAXPROCS: int64(processors)}
	if text, _ := lookup("GOGC"); text == "off" {
		environment.GOGC = Off
	} else if percent, err := strconv.ParseInt(text, 10, 32); err == nil {
		environment.GOGC = percent
		if percent < 0 { // the runtime takes any negative number as off
			environment.GOGC = Off
		}
	}
	// A malformed GOMEMLIMIT never gets here: the runtime refuses to start with it.
	if text, _ := lookup("GOMEMLIMIT"); text != "" {
		if limit, err := parseValue("GOMEMLIMIT", text); err == nil {
			environment.GOMEMLIMIT = limit
		}
	}
	if text, _ := lookup("GOMAXPROCS"); text != "" {
		if count, err := strconv.ParseInt(text, 10, 32); err == nil && count > 0 {
			environment.GOMAXPROCS = count
		}
	}
	return environment
}

func (e Environment) value(name string) int64 {
	switch name {
	case "GOGC":
		return e.GOGC
	case "GOMEMLIMIT":
		return e.GOMEMLIMIT
	default:
		return e.GOMAXPROCS
	}
}
