package tuning

import (
	"fmt"
	"math"
	"strings"
)

// Prediction is the expected relative change of the objective with its range: -0.33 is a third less. The zero value predicts nothing.
type Prediction struct{ Low, Mid, High float64 }

// The model says by which factor a cost changes; what is really seen lies between half and one and a half of that in the logarithm. Cycles
// follow 100/GOGC exactly (runtime/mgcpacer.go); their cost does not: in a sweep of one Go 1.26 process, 64 MiB live, doubling GOGC
// from 25, 50 and 100 changed the CPU time of the collector as 1/GOGC to the power of 1.2, 0.7 and 1.1.
const (
	leastOfModel = 0.5
	mostOfModel  = 1.5
)

// predict gives the range for a cost that the model sees multiplied by ratio.
func predict(ratio float64) Prediction {
	return Prediction{Low: math.Pow(ratio, mostOfModel) - 1, Mid: ratio - 1, High: math.Pow(ratio, leastOfModel) - 1}
}

// Text is such as -33% (-46% to -18%); empty where nothing is predicted.
func (p Prediction) Text() string {
	if p == (Prediction{}) {
		return ""
	}
	return fmt.Sprintf("%+.0f%% (%+.0f%% to %+.0f%%)", 100*p.Mid, 100*p.Low, 100*p.High)
}

// maxReason is the bound that the CRD sets.
const maxReason = 512

func shorten(text string) string {
	const ellipsis = "…"
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason-len(ellipsis)], "") + ellipsis
}
