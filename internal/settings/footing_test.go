package settings

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestFromAPIOn(t *testing.T) {
	proven, declared := Settings{GOGC: 50, MemoryLimitBytes: 900 << 20}, Settings{GOGC: 25}
	on := Footing{Declared: declared, MemoryLimitBytes: 1 << 30}
	nonsense := intstr.FromString("much")
	unreadable := v1alpha1.RuntimeSettings{GOGC: &nonsense}
	for name, test := range map[string]struct {
		settings v1alpha1.RuntimeSettings
		footing  v1alpha1.Footing
		now      Footing
		want     Settings
		ok       bool
	}{
		"it holds":             {proven.API(), on.API(), on, proven, true},
		"less memory":          {proven.API(), on.API(), Footing{Declared: declared, MemoryLimitBytes: 1 << 29}, Settings{GOGC: 50}, true},
		"declared otherwise":   {proven.API(), on.API(), Footing{MemoryLimitBytes: 1 << 30}, Settings{}, false},
		"unreadable settings":  {unreadable, on.API(), on, Settings{}, false},
		"an unreadable ground": {proven.API(), v1alpha1.Footing{Declared: unreadable}, on, Settings{}, false},
	} {
		if got, ok := FromAPIOn(test.settings, test.footing, test.now); got != test.want || ok != test.ok {
			t.Errorf("%s: %+v %t, want %+v %t", name, got, ok, test.want, test.ok)
		}
	}
}
