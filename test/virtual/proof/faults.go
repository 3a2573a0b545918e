package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gopacer/gopacer/test/virtual/api"
)

// Fault is what may happen to one call.
type Fault string

// The faults.
const (
	FaultError        Fault = "error"
	FaultConflict     Fault = "conflict"
	FaultTimeout      Fault = "timeout"
	FaultTimeoutAfter Fault = "timeout after success"
	FaultKilledBefore Fault = "killed before"
	FaultKilledAfter  Fault = "killed after"
	FaultSlowBefore   Fault = "slow before"
	FaultSlowAfter    Fault = "slow after"
	FaultTwoManagers  Fault = "two managers"
)

// Faults are all that may happen to a call.
var Faults = []Fault{
	FaultError, FaultConflict, FaultTimeout, FaultTimeoutAfter, FaultKilledBefore, FaultKilledAfter, FaultSlowBefore, FaultSlowAfter, FaultTwoManagers,
}

// mostDepth of calls that let time pass within calls that let time pass.
const mostDepth = 2

// through is the way of each call of a manager's to the API server.
func (m *manager) through(call *api.Call, do func() error) error {
	if m.dead {
		return errKilled
	}
	r := m.run
	r.calls++
	if call.IsWrite() {
		r.writes = append(r.writes, r.calls)
	}
	fault := r.faultNow()
	if fault == "" {
		return m.observed(call, do)
	}
	r.count(string(fault))
	r.tell("%s: %s: %s", m.name, call, fault)
	return m.suffer(fault, call, do)
}

// faultNow is what happens to the call that is about to be made.
func (r *run) faultNow() Fault {
	if r.Strike != nil {
		if r.Strike.Call == r.calls {
			return r.Strike.Fault
		}
		return ""
	}
	if !r.busy || !r.chance(r.weather.faults) {
		return ""
	}
	return Faults[r.random.IntN(len(Faults))]
}

func (m *manager) suffer(fault Fault, call *api.Call, do func() error) error {
	r := m.run
	switch fault {
	case FaultError:
		return apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case FaultConflict:
		if call.IsWrite() && call.Subresource != "eviction" {
			m.pass.refused = true
			return apierrors.NewConflict(schema.GroupResource{Group: call.Kind.Group, Resource: call.Kind.Kind}, call.Key.Name, errors.New("the object has been modified"))
		}
		return m.observed(call, do)
	case FaultTimeout:
		r.pass(r.between(0, 10*time.Second))
		return fmt.Errorf("client rate limiter: %w", context.DeadlineExceeded)
	case FaultTimeoutAfter:
		if err := m.observed(call, do); err != nil {
			return err
		}
		r.pass(r.between(0, 10*time.Second))
		return fmt.Errorf("read the answer: %w", context.DeadlineExceeded)
	case FaultKilledBefore:
		m.die(r.between(time.Second, 30*time.Second))
		return errKilled
	case FaultKilledAfter:
		_ = m.observed(call, do) // nobody hears the answer
		m.die(r.between(time.Second, 30*time.Second))
		return errKilled
	case FaultSlowBefore:
		r.pass(r.between(0, 30*time.Second))
	case FaultSlowAfter:
		err := m.observed(call, do)
		r.pass(r.between(0, 30*time.Second))
		return err
	case FaultTwoManagers:
		r.twoManagers(m)
		r.pass(r.between(0, 5*time.Second))
	}
	if m.dead {
		return errKilled
	}
	return m.observed(call, do)
}

// pass lets time pass within a call: everybody else goes on.
func (r *run) pass(length time.Duration) {
	if r.depth >= mostDepth {
		return
	}
	r.depth++
	r.cluster.Run(length)
	r.depth--
}

// twoManagers starts another manager beside one that does not know yet that it has lost its lease.
func (r *run) twoManagers(old *manager) {
	if len(r.living()) > 1 {
		return
	}
	r.startManager()
	r.cluster.After(r.between(5*time.Second, 90*time.Second), func() { old.die(0) })
}

// observed does a call, and shows it to the witness.
func (m *manager) observed(call *api.Call, do func() error) error {
	err := do()
	if err == nil && call.Verb == "patch" && bytes.Contains(call.Patch, []byte(`"ownerReferences"`)) {
		m.run.handed++
	}
	if m.pass != nil {
		m.pass.note(call, err)
		m.run.witness.called(m.pass, call, err)
	}
	return err
}
