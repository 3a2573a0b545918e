package noticed

import "testing"

func TestLarger(t *testing.T) {
	if got := larger(2, 1); got != 2 {
		t.Errorf("got %d", got)
	}
	if got := larger(1, 2); got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestUpTo(t *testing.T) {
	if got := upTo(3); got != 3 {
		t.Errorf("got %d", got)
	}
}

func TestFind(t *testing.T) {
	if got := find([]int{4, 5}, 5); got != 1 {
		t.Errorf("got %d", got)
	}
}
