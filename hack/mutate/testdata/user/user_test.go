// Package user has a test of another package.
package user

import (
	"testing"

	"github.com/gopacer/gopacer/hack/mutate/testdata/noticed"
)

func TestNegative(t *testing.T) {
	if got := noticed.Negative(2); got != -2 {
		t.Errorf("got %d", got)
	}
}
