package admission

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestGrants(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	grants := newGrants(clock)
	at := func(offset time.Duration) { clock.SetTime(noon.Add(offset)) }
	claim := func(policy, slot string, want bool) {
		t.Helper()
		if got := grants.claim(types.UID(policy), slot); got != want {
			t.Errorf("claim of %s/%s: %t, want %t", policy, slot, got, want)
		}
	}
	claim("one", "a", true)
	claim("one", "a", false)
	claim("one", "b", true)
	claim("two", "a", true)
	at(grantMemory - time.Nanosecond)
	claim("one", "a", false)
	at(grantMemory)
	claim("one", "a", true)
	at(2*grantMemory - time.Nanosecond)
	claim("one", "a", false)
	claim("two", "a", true)
}

func TestGrantsAreBounded(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	grants := newGrants(clock)
	granted := 0
	for i := range mostGrants + 100 {
		if grants.claim("policy", fmt.Sprint(i)) {
			granted++
		}
	}
	if granted != mostGrants || len(grants.until) != mostGrants {
		t.Errorf("%d granted, %d remembered, want %d", granted, len(grants.until), mostGrants)
	}
	clock.SetTime(noon.Add(grantMemory))
	if !grants.claim("policy", "later") || len(grants.until) != 1 {
		t.Errorf("%d remembered after their time, want 1", len(grants.until))
	}
}

func TestGrantsOnceUnderLoad(t *testing.T) {
	grants := newGrants(clocktesting.NewFakePassiveClock(noon))
	var granted atomic.Int32
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if grants.claim("policy", slot) {
				granted.Add(1)
			}
		})
	}
	group.Wait()
	if granted.Load() != 1 {
		t.Errorf("the slot was granted %d times, want once", granted.Load())
	}
}
