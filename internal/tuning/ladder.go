package tuning

import (
	"math"

	"github.com/gopacer/gopacer/internal/settings"
)

// ladder holds the values of GOGC that Feedback tries. Between its rungs the effect is too small to be seen, and no rung is more than half
// as high again as the one below.
var ladder = []settings.GOGC{8, 12, 16, 20, 25, 35, 50, 75, 100, 150, 200, 300, 400, 500}

const (
	// maxStep is how many times the present GOGC a candidate may be, or the other way round: the model is trusted for so much, then it is
	// measured again.
	maxStep = 1.5
	// stepGain is the part of the way to the optimum, in the logarithm, that one step takes. Cost is in proportion to 1/GOGC, so that half
	// of it halves the distance with each step, and a model that is wrong by a factor of four still comes closer.
	stepGain = 0.5
	// deadband is the relative distance from the present GOGC within which nothing is worth a trial.
	deadband = 0.15
)

// direction of a step.
type direction int

const (
	down direction = -1
	up   direction = 1
)

// rungs from a GOGC in a direction, the nearest first, within bounds and outside of the deadband.
func rungs(from float64, to direction, least, most settings.GOGC) []settings.GOGC {
	var found []settings.GOGC
	for i := range ladder {
		gogc := ladder[i]
		if to == down {
			gogc = ladder[len(ladder)-1-i]
		}
		if gogc >= least && gogc <= most && beyond(from, float64(gogc), to, deadband) {
			found = append(found, gogc)
		}
	}
	return found
}

// beyond says that a GOGC lies further than a band from another, in the direction.
func beyond(from, gogc float64, to direction, band float64) bool {
	if to == down {
		from, gogc = gogc, from
	}
	return gogc-from > band*from
}

// step chooses the rung to try next on the way to the last of the rungs, which is the optimum: half of the way in the logarithm, at most
// half as high again, at least one rung.
func step(from float64, rungs []settings.GOGC) settings.GOGC {
	optimum := float64(rungs[len(rungs)-1])
	reach := math.Log(maxStep)
	wanted := math.Max(-reach, math.Min(reach, stepGain*math.Log(optimum/from)))
	return nearest(from, wanted, rungs)
}

// nearest rung to a step in the logarithm, among those within reach; the first where none is.
func nearest(from, wanted float64, rungs []settings.GOGC) settings.GOGC {
	best := rungs[0]
	for _, gogc := range rungs[1:] {
		ratio := float64(gogc) / from
		if ratio > maxStep || ratio*maxStep < 1 {
			break
		}
		if math.Abs(math.Log(ratio)-wanted) < math.Abs(math.Log(float64(best)/from)-wanted) {
			best = gogc
		}
	}
	return best
}
