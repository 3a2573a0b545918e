package fleet

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"
)

// ReadInterval is how often the file is read at the most. A mounted ConfigMap reaches the file within a minute or so
// (https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically).
const ReadInterval = 5 * time.Second

// Reader gives the limits that the manager's configuration file holds now: a stop must act without a restart. The kubelet changes the file by
// swapping a symbolic link, so that it is read whole by its name, and never watched.
type Reader struct {
	path string
	now  func() time.Time
	// warn is told, once, what a person should know.
	warn func(message string)

	mutex     sync.Mutex
	readAt    time.Time
	content   []byte
	limits    Limits
	providers any
	stale     bool
}

// NewReader reads the file for the first time, and then must be able to.
func NewReader(path string, now func() time.Time, warn func(message string)) (*Reader, error) {
	r := &Reader{path: path, now: now, warn: warn}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the manager's configuration: %w", err)
	}
	parsed, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, err)
	}
	r.readAt, r.content, r.limits, r.providers = now(), content, parsed.Trials, parsed.Providers
	return r, nil
}

// Limits are those of the file, at most ReadInterval old.
func (r *Reader) Limits() Limits {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if since := r.now().Sub(r.readAt); since >= 0 && since < ReadInterval {
		return r.limits
	}
	r.readAt = r.now()
	content, err := os.ReadFile(r.path)
	if err != nil {
		r.fail("read the manager's configuration: " + err.Error())
		return r.limits
	}
	if bytes.Equal(content, r.content) && r.limits.Fault == "" {
		return r.limits
	}
	r.content = content
	parsed, err := parse(content)
	if err != nil {
		r.fail("the manager's configuration: " + err.Error())
		return r.limits
	}
	r.limits = parsed.Trials
	r.compareProviders(parsed.Providers)
	return r.limits
}

// fail holds all trials until the configuration can be used again.
func (r *Reader) fail(fault string) {
	if r.limits.Fault != fault {
		r.warn("All trials are held until the configuration can be used: " + fault)
	}
	r.limits.Stop, r.limits.Fault = StopHold, fault
}

func (r *Reader) compareProviders(providers any) {
	changed := !reflect.DeepEqual(providers, r.providers)
	if changed && !r.stale {
		r.warn("The Prometheus providers in the configuration have changed; they are read at the start only: restart the manager to use them")
	}
	r.stale = changed
}
