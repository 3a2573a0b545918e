package settings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// Footing is what settings were proven on: the declared settings, and the limits of the container.
type Footing struct {
	Declared Settings
	// MemoryLimitBytes is 0 where the container has no memory limit.
	MemoryLimitBytes int64
	// CPULimitMilli is the CPU limit in thousandths of a CPU; 0 where the container has none.
	CPULimitMilli int64
}

// FootingOf is what a container offers settings to stand on.
func FootingOf(container *corev1.Container) (Footing, error) {
	declared, err := Declared(container)
	if err != nil {
		return Footing{}, err
	}
	limits := container.Resources.Limits
	return Footing{Declared: declared, MemoryLimitBytes: limits.Memory().Value(), CPULimitMilli: limits.Cpu().MilliValue()}, nil
}

// FromAPI reads settings of a policy.
func FromAPI(in v1alpha1.RuntimeSettings) (Settings, error) {
	var s Settings
	if in.GOGC != nil {
		gogc, err := ParseGOGC(in.GOGC.String())
		if err != nil {
			return Settings{}, err
		}
		s.GOGC = gogc
	}
	if in.GOMEMLIMIT != nil {
		limit := in.GOMEMLIMIT.Value()
		if limit <= 0 {
			return Settings{}, fmt.Errorf("gomemlimit %q: want a number of bytes above 0", in.GOMEMLIMIT.String())
		}
		s.MemoryLimitBytes = limited(limit)
	}
	if in.GOMAXPROCS != nil {
		if *in.GOMAXPROCS <= 0 {
			return Settings{}, fmt.Errorf("gomaxprocs %d: want a whole number from 1 on", *in.GOMAXPROCS)
		}
		s.GOMAXPROCS = *in.GOMAXPROCS
	}
	var err error
	if s.GODEBUG, err = godebugFromAPI(in.GODEBUG); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// API writes the settings as a policy holds them.
func (s Settings) API() v1alpha1.RuntimeSettings {
	var out v1alpha1.RuntimeSettings
	switch {
	case s.GOGC == Off:
		off := intstr.FromString("off")
		out.GOGC = &off
	case s.GOGC != 0:
		gogc := intstr.FromInt32(int32(s.GOGC))
		out.GOGC = &gogc
	}
	out.GOMEMLIMIT = bytesQuantity(s.MemoryLimitBytes)
	if s.GOMAXPROCS != 0 {
		out.GOMAXPROCS = &s.GOMAXPROCS
	}
	out.GODEBUG = godebugAPI(s.GODEBUG)
	return out
}

// Variables writes the settings as a container gets them.
func (s Settings) Variables() []v1alpha1.Variable {
	var out []v1alpha1.Variable
	for _, entry := range s.Entries() {
		out = append(out, v1alpha1.Variable{Name: v1alpha1.VariableName(entry.Name), Value: entry.Value})
	}
	return out
}

// FootingFromAPI reads a footing of a policy.
func FootingFromAPI(in v1alpha1.Footing) (Footing, error) {
	declared, err := FromAPI(in.Declared)
	if err != nil {
		return Footing{}, err
	}
	footing := Footing{Declared: declared}
	if in.MemoryLimit != nil {
		footing.MemoryLimitBytes = in.MemoryLimit.Value()
	}
	if in.CPULimit != nil {
		footing.CPULimitMilli = in.CPULimit.MilliValue()
	}
	return footing, nil
}

// API writes the footing as a policy holds it.
func (f Footing) API() v1alpha1.Footing {
	out := v1alpha1.Footing{Declared: f.Declared.API(), MemoryLimit: bytesQuantity(f.MemoryLimitBytes)}
	if f.CPULimitMilli != 0 {
		out.CPULimit = resource.NewMilliQuantity(f.CPULimitMilli, resource.DecimalSI)
	}
	return out
}

// Variables writes the footing as admission compares it with a new pod.
func (f Footing) Variables() v1alpha1.VariablesFooting {
	limits := f.API()
	return v1alpha1.VariablesFooting{Declared: f.Declared.Variables(), MemoryLimit: limits.MemoryLimit, CPULimit: limits.CPULimit}
}

// On returns what settings proven on f become on now. Nothing may be given where the declared settings changed. Where the memory limit is
// smaller, or new, no GOMEMLIMIT is but the declared one, since a soft limit above the hard one protects nothing. Where the CPU limit is smaller, or
// new, no GOMAXPROCS is but the declared one: more processors than the limit pays for are throttled. Where a limit grew, or is gone, the
// settings are as good as they were.
func (f Footing) On(now Footing, s Settings) (Settings, bool) {
	if f.Declared != now.Declared {
		return Settings{}, false
	}
	if tighter(f.MemoryLimitBytes, now.MemoryLimitBytes) {
		s.MemoryLimitBytes = now.Declared.MemoryLimitBytes
	}
	if tighter(f.CPULimitMilli, now.CPULimitMilli) {
		s.GOMAXPROCS = now.Declared.GOMAXPROCS
	}
	return s, true
}

// tighter says that a limit shrank or appeared; 0 is no limit.
func tighter(then, now int64) bool {
	return now != 0 && (then == 0 || now < then)
}

// FromAPIOn reads settings of a policy with the footing that they were proven on, and gives what they become on now. It says false where
// they may not be given, or can't be read.
func FromAPIOn(proven v1alpha1.RuntimeSettings, provenOn v1alpha1.Footing, now Footing) (Settings, bool) {
	s, err := FromAPI(proven)
	if err != nil {
		return Settings{}, false
	}
	then, err := FootingFromAPI(provenOn)
	if err != nil {
		return Settings{}, false
	}
	return then.On(now, s)
}

func bytesQuantity(bytes int64) *resource.Quantity {
	if bytes == 0 {
		return nil
	}
	return resource.NewQuantity(bytes, resource.BinarySI)
}
