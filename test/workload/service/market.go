package main

import (
	"runtime"
	"sync"
)

// market sums up what every seller offers, and how many offers there are at every price. It is made by a walk over the
// whole live heap, so it is dear to make, and cheap to look things up in.
type market struct {
	sellers map[string]*standing
	prices  map[int64]int // offers by cents
}

type standing struct {
	offers int64
	cents  int64
}

// average is a seller's mean price; 0 for one that left the market.
func (m *market) average(seller string) int64 {
	if found := m.sellers[seller]; found != nil {
		return found.cents / found.offers
	}
	return 0
}

// marketCache keeps the last market, for ever or until the next garbage collection.
type marketCache struct {
	mutex  sync.Mutex // also makes requests that come while a market is made wait for it, and share it
	cached *market
}

func (c *marketCache) get(stock *catalogue) *market {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cached == nil {
		c.cached = survey(stock)
	}
	return c.cached
}

// sentinel is an object for the collector to find dead. It has a pointer, for the runtime may keep objects without any
// alive together with others.
type sentinel struct{ _ *sentinel }

// emptyAtCollections gives the memory of the market back at every garbage collection, as memory-sensitive caches and
// pools do. So whoever collects now and then has as many slow requests as collections, and whoever collects all the
// time has few others.
func (c *marketCache) emptyAtCollections() {
	runtime.AddCleanup(new(sentinel), func(emptied *marketCache) {
		emptied.mutex.Lock()
		emptied.cached = nil
		emptied.mutex.Unlock()
		emptied.emptyAtCollections()
	}, c)
}

func survey(stock *catalogue) *market {
	made := &market{sellers: map[string]*standing{}, prices: map[int64]int{}}
	stock.each(func(listed *product) {
		for offered := listed.offers; offered != nil; offered = offered.next {
			found := made.sellers[offered.seller]
			if found == nil {
				found = new(standing)
				made.sellers[offered.seller] = found
			}
			found.offers++
			found.cents += offered.cents
			made.prices[offered.cents]++
		}
	})
	return made
}
