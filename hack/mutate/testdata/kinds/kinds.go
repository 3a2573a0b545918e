// Package kinds has one function for each kind of mutant.
package kinds

import "time"

const limit = 10

var double = func(a int) int { return a * 2 }

type box struct{ n int }

func less(a, b int) bool { return a < b }

func equal(a, b any) bool { return a == b }

func sum(a, b float64) float64 { return a + b }

func joined(a, b string) string { return a + b }

func left(a, b int) int { return a % b }

func both(a, b bool) bool { return a && b }

func nested(a, b, c int) bool { return a+b < c || c > 5 }

func not(a bool) bool { return !a }

func minus(a int) int { return -a }

func count(n int) int {
	n++
	n += 5
	return n
}

func wait() time.Duration { return 2 * time.Second }

func half(n float64) bool { return n > 0.5 }

func yes() bool { return true }

func sign(n int) string {
	switch {
	case n < limit:
		return "low"
	}
	if n := n - limit; n == 0 {
		return "limit"
	}
	return "high"
}

func word(n int) string {
	switch n {
	case 3:
		return "three"
	}
	return "other"
}

func set(b *box, n int) int {
	b.n = n
	b.clear(n)
	return b.n
}

func (b *box) clear(n int) {
	if n > 7 {
		return
	}
	b.n = 0
}

func firsts(list []int) (sum int) {
	for _, n := range list {
		if n == 3 {
			break
		}
		sum += n
	}
	return sum
}

func turns(n int) (turns int) {
	for i := 0; i < n; i++ {
		turns++
	}
	return turns
}

func list(n int) int {
	made := make([]int, n, 3*n)
	return len(made) + len([]string{1: "a"})
}

func search(list []int) int {
	for i := 0; ; i++ {
		if list[i] == 3 {
			return i
		}
		continue
	}
}
