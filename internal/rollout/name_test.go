package rollout

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestPodName(t *testing.T) {
	const id = "a1b2c3d4"
	for name, test := range map[string]struct{ generateName, want string }{
		"a usual name":          {"checkout-5d9c7b6f4-", "checkout-5d9c7b6f4-a1b2c3d4"},
		"just fits":             {strings.Repeat("a", 54) + "-", strings.Repeat("a", 54) + "-a1b2c3d4"},
		"one too long":          {strings.Repeat("a", 55) + "-", strings.Repeat("a", 55) + "a1b2c3d4"},
		"the longest there is":  {strings.Repeat("a", 252) + "-", strings.Repeat("a", 55) + "a1b2c3d4"},
		"cut after a dot":       {strings.Repeat("a", 54) + ".b-", strings.Repeat("a", 54) + ".a1b2c3d4"},
		"cut within many dots":  {strings.Repeat("a.", 40), strings.Repeat("a.", 27) + "aa1b2c3d4"},
		"nothing before the id": {"", "a1b2c3d4"},
	} {
		got := PodName(test.generateName, id)
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 || len(got) > 63 {
			t.Errorf("%s: %q is no name for a pod and its host: %v", name, got, problems)
		}
	}
}

func TestPodNameKeepsSlotsApart(t *testing.T) {
	long := strings.Repeat("a", 250) + "-"
	if PodName(long, "a1b2c3d4") == PodName(long, "a1b2c3d5") {
		t.Error("two slots have one name")
	}
}

func TestPolicyLabel(t *testing.T) {
	long := strings.Repeat("team.", 20) + "checkout"
	for _, name := range []string{"checkout", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), long, strings.Repeat("a", 51) + "..-" + strings.Repeat("b", 60)} {
		got := PolicyLabel(name)
		if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
			t.Errorf("%q is no label value: %v", got, problems)
		}
		if len(name) <= 63 && got != name {
			t.Errorf("%q became %q, though it fits", name, got)
		}
	}
	if PolicyLabel(long+"-a") == PolicyLabel(long+"-b") {
		t.Error("two long names have one label")
	}
}
