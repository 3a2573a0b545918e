// Package fleet reads what the manager's configuration says of all trials together: a stop, and how many may run at a time.
package fleet

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v2"
)

// Stop says what is done to all trials of the fleet.
type Stop string

const (
	// StopNone lets trials run.
	StopNone Stop = "None"
	// StopHold starts no trial, and lets those that run go no further; their guards still revert them.
	StopHold Stop = "Hold"
	// StopRevert starts no trial, and reverts those that run.
	StopRevert Stop = "Revert"
)

// The defaults bound what a mistake can cost: in a namespace, and in a cluster.
const (
	DefaultPerNamespace = 5
	DefaultPerCluster   = 20
)

// Limits hold for the trials of all policies together.
type Limits struct {
	Stop Stop `yaml:"stop"`
	// PerNamespace and PerCluster are how many trials may run at a time.
	PerNamespace int `yaml:"perNamespace"`
	PerCluster   int `yaml:"perCluster"`
	// Fault says why the configuration can't be used; empty where it can. All trials are held meanwhile: it may have been meant as a stop.
	Fault string `yaml:"-"`
}

// Defaults are the limits where the configuration says nothing.
func Defaults() Limits {
	return Limits{Stop: StopNone, PerNamespace: DefaultPerNamespace, PerCluster: DefaultPerCluster}
}

// UnmarshalYAML puts in the defaults first.
func (l *Limits) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Limits
	*l = Defaults()
	return unmarshal((*plain)(l))
}

// configuration is the manager's configuration file. The providers are internal/signal/prometheus's to read.
type configuration struct {
	Providers any    `yaml:"providers"`
	Trials    Limits `yaml:"trials"`
}

func parse(content []byte) (configuration, error) {
	parsed := configuration{Trials: Defaults()}
	if err := yaml.UnmarshalStrict(content, &parsed); err != nil {
		// What yaml repeats may be a secret at the wrong place, and the message ends up in a status.
		return configuration{}, errors.New("it is not a YAML object with a list \"providers\", and with \"trials\", which has stop, perNamespace and perCluster")
	}
	return parsed, parsed.Trials.validate()
}

func (l Limits) validate() error {
	switch l.Stop {
	case StopNone, StopHold, StopRevert:
	default:
		return fmt.Errorf("trials.stop is %q: give None, Hold or Revert", l.Stop)
	}
	if l.PerNamespace < 1 || l.PerCluster < 1 {
		return fmt.Errorf("trials.perNamespace is %d and trials.perCluster %d: give whole numbers from 1 on; to let no trial start, set trials.stop to Hold",
			l.PerNamespace, l.PerCluster)
	}
	return nil
}
