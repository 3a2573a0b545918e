package tuning

import (
	"math"

	"github.com/gopacer/gopacer/internal/signal"
)

// figure reads one measurement of a pod.
type figure func(signal.Pod) signal.Value

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

// above says that a value is there and is larger.
func above(value signal.Value, bound float64) bool { return value.OK() && value.Number > bound }

func scale(value signal.Value, factor float64) signal.Value {
	if !value.OK() {
		return value
	}
	return present(value.Number * factor)
}

func clamp(value signal.Value, low, high float64) signal.Value {
	if !value.OK() {
		return value
	}
	return present(math.Max(low, math.Min(high, value.Number)))
}

// sum, mean and largest are over the pods that show the figure; Absent where none does.
func sum(pods []signal.Pod, of figure) signal.Value {
	return fold(pods, of, func(a, b float64) float64 { return a + b })
}

func largest(pods []signal.Pod, of figure) signal.Value { return fold(pods, of, math.Max) }

func mean(pods []signal.Pod, of figure) signal.Value {
	count := 0
	for _, pod := range pods {
		if of(pod).OK() {
			count++
		}
	}
	return scale(sum(pods, of), 1/float64(max(1, count)))
}

func fold(pods []signal.Pod, of figure, combine func(a, b float64) float64) signal.Value {
	var folded signal.Value
	for _, pod := range pods {
		switch value := of(pod); {
		case !value.OK():
		case !folded.OK():
			folded = value
		default:
			folded.Number = combine(folded.Number, value.Number)
		}
	}
	return folded
}

func everyPod(pods []signal.Pod, has figure) bool {
	for _, pod := range pods {
		if !has(pod).OK() {
			return false
		}
	}
	return true
}

// ratioOfSums is over the pods that show both; Absent where none does, or the divisor is nothing.
func ratioOfSums(pods []signal.Pod, of, per figure) signal.Value {
	var dividend, divisor float64
	for _, pod := range pods {
		if above, below := of(pod), per(pod); above.OK() && below.OK() {
			dividend, divisor = dividend+above.Number, divisor+below.Number
		}
	}
	if !(divisor > 0) {
		return signal.Value{}
	}
	return present(dividend / divisor)
}
