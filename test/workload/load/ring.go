package main

import (
	"slices"
	"sync"
)

// ring hands out endpoints in turn, so that over any stretch they get the same number of requests, within one.
type ring struct {
	mutex     sync.Mutex
	endpoints []string
	position  int
}

// set replaces the endpoints. The turn goes on behind the endpoint that had the last one, so that a change of the set
// favours nobody.
func (r *ring) set(endpoints []string) {
	sorted := slices.Compact(slices.Sorted(slices.Values(endpoints)))
	r.mutex.Lock()
	defer r.mutex.Unlock()
	last := ""
	if len(r.endpoints) > 0 {
		last = r.endpoints[(r.position+len(r.endpoints)-1)%len(r.endpoints)]
	}
	position, found := slices.BinarySearch(sorted, last)
	if found {
		position++
	}
	r.endpoints, r.position = sorted, position
}

// take returns whose turn it is; false if there is no endpoint.
func (r *ring) take() (string, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.endpoints) == 0 {
		return "", false
	}
	endpoint := r.endpoints[r.position%len(r.endpoints)]
	r.position = (r.position + 1) % len(r.endpoints)
	return endpoint, true
}

func (r *ring) size() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.endpoints)
}
