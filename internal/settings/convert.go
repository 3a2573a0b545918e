package settings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// Footing is what settings were proven on: the declared settings and the memory limit of the container, 0 where it has none.
type Footing struct {
	Declared         Settings
	MemoryLimitBytes int64
}

// FootingOf is what a container offers settings to stand on.
func FootingOf(container *corev1.Container) (Footing, error) {
	declared, err := Declared(container)
	if err != nil {
		return Footing{}, err
	}
	return Footing{Declared: declared, MemoryLimitBytes: container.Resources.Limits.Memory().Value()}, nil
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
	return footing, nil
}

// API writes the footing as a policy holds it.
func (f Footing) API() v1alpha1.Footing {
	return v1alpha1.Footing{Declared: f.Declared.API(), MemoryLimit: bytesQuantity(f.MemoryLimitBytes)}
}

// On returns what settings proven on f become on now: nothing may be given where the declared settings changed, and no GOMEMLIMIT but
// the declared one where the memory limit is smaller, or new, since a soft limit above the hard one protects nothing. Where the limit grew, or is
// gone, the settings are as good as they were.
func (f Footing) On(now Footing, s Settings) (Settings, bool) {
	if f.Declared != now.Declared {
		return Settings{}, false
	}
	shrank := f.MemoryLimitBytes != 0 && now.MemoryLimitBytes != 0 && now.MemoryLimitBytes < f.MemoryLimitBytes
	appeared := f.MemoryLimitBytes == 0 && now.MemoryLimitBytes != 0
	if shrank || appeared {
		s.MemoryLimitBytes = now.Declared.MemoryLimitBytes
	}
	return s, true
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
