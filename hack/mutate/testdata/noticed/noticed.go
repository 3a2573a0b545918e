// Package noticed has mutants that its tests notice, and others.
package noticed

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Negative is for another package.
func Negative(a int) int { return -a }

func unused(a int) int { return -a }

func upTo(n int) int {
	i := 0
	for i < n {
		i++
	}
	return i
}

func find(list []int, n int) int {
	for i := 0; ; i++ {
		if list[i] != n {
			continue
		}
		return i
	}
}
