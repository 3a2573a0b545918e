package tuning

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPredictionText(t *testing.T) {
	tests := map[string]struct {
		predicted Prediction
		want      string
	}{
		"nothing":       {Prediction{}, ""},
		"a third less":  {predict(2.0 / 3), "-33% (-46% to -18%)"},
		"half":          {predict(0.5), "-50% (-65% to -29%)"},
		"more":          {Prediction{Low: 0.01, Mid: 0.02, High: 0.04}, "+2% (+1% to +4%)"},
		"most":          {Prediction{Low: -0.9, Mid: -0.8, High: -0.7}, "-80% (-90% to -70%)"},
		"almost naught": {Prediction{High: 0.001}, "+0% (+0% to +0%)"},
	}
	for name, test := range tests {
		if got := test.predicted.Text(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPredict(t *testing.T) {
	got := predict(0.25)
	if math.Abs(got.Low+0.875) > 1e-9 || math.Abs(got.Mid+0.75) > 1e-9 || math.Abs(got.High+0.5) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

func TestShorten(t *testing.T) {
	fits := strings.Repeat("a", maxReason)
	if got := shorten(fits); got != fits {
		t.Errorf("%d bytes", len(got))
	}
	long := strings.Repeat("ä", maxReason/2) + "b"
	if got := shorten(long); len(got) > maxReason || len(got) < maxReason-5 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%q", got)
	}
}
