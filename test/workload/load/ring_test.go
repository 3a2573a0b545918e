package main

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

func taken(r *ring, count int) []string {
	var got []string
	for range count {
		endpoint, _ := r.take()
		got = append(got, endpoint)
	}
	return got
}

func TestRingTakesTurns(t *testing.T) {
	r := new(ring)
	if _, found := r.take(); found {
		t.Error("an empty ring has an endpoint")
	}
	r.set([]string{"b", "a", "c", "a"})
	if diff := cmp.Diff([]string{"a", "b", "c", "a", "b"}, taken(r, 5)); diff != "" {
		t.Error(diff)
	}
}

func TestRingGoesOnAfterAChange(t *testing.T) {
	for _, test := range []struct {
		name    string
		changed []string
		want    []string
	}{
		{"none", []string{"a", "b", "c"}, []string{"c", "a", "b"}},
		{"one more", []string{"a", "b", "bb", "c"}, []string{"bb", "c", "a", "b"}},
		{"the last one gone", []string{"a", "c"}, []string{"c", "a"}},
		{"the next one gone", []string{"a", "b"}, []string{"a", "b"}},
		{"all new", []string{"x", "y"}, []string{"x", "y"}},
		{"none left", nil, []string{""}},
	} {
		r := new(ring)
		r.set([]string{"a", "b", "c"})
		taken(r, 2) // b had the last turn
		r.set(test.changed)
		if diff := cmp.Diff(test.want, taken(r, len(test.want))); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestRingIsEvenUnderConcurrency(t *testing.T) {
	const workers, each, size = 8, 600, 6
	r := new(ring)
	var endpoints []string
	for number := range size {
		endpoints = append(endpoints, fmt.Sprint(number))
	}
	r.set(endpoints)
	counts, mutex := map[string]int{}, sync.Mutex{}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for _, endpoint := range taken(r, each) {
				mutex.Lock()
				counts[endpoint]++
				mutex.Unlock()
			}
		})
	}
	running.Wait()
	for endpoint, count := range counts {
		if count != workers*each/size {
			t.Errorf("endpoint %s got %d requests, want %d", endpoint, count, workers*each/size)
		}
	}
}

func TestReadyEndpoints(t *testing.T) {
	endpoint := func(address string, ready *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{
			Addresses:  []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: ptr.To(true)},
		}
	}
	port := []discoveryv1.EndpointPort{{Port: ptr.To[int32](8080)}}
	got := readyEndpoints([]any{
		&discoveryv1.EndpointSlice{Ports: port, Endpoints: []discoveryv1.Endpoint{
			endpoint("10.0.0.1", ptr.To(true)),
			endpoint("10.0.0.2", ptr.To(false)), // drains: serving, but not ready
			endpoint("10.0.0.3", nil),
			{Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}},
		}},
		&discoveryv1.EndpointSlice{Ports: port, Endpoints: []discoveryv1.Endpoint{endpoint("fd00::1", ptr.To(true))}},
		&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{endpoint("10.0.0.4", ptr.To(true))}},
		"no slice",
	})
	if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.3:8080", "[fd00::1]:8080"}, got); diff != "" {
		t.Error(diff)
	}
}
