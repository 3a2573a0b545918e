package main

import (
	"runtime"
	"sync"
)

// market sums up what every seller offers. It is made by a walk over the whole live heap, so it is dear to make, and
// cheap to look things up in.
type market struct {
	sellers map[string]*standing
	version uint64 // changes with every name and price
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

const (
	digestStart = 14695981039346656037
	digestPrime = 1099511628211
)

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
	made := &market{sellers: make(map[string]*standing, sellers), version: digestStart}
	stock.each(func(listed *product) {
		made.version = digest(made.version, listed.name)
		for offered := listed.offers; offered != nil; offered = offered.next {
			made.version = digest(made.version, offered.seller) ^ uint64(offered.cents)
			found := made.sellers[offered.seller]
			if found == nil {
				found = new(standing)
				made.sellers[offered.seller] = found
			}
			found.offers++
			found.cents += offered.cents
		}
	})
	return made
}

// digest goes on with an FNV-1a hash. That of the standard library wants bytes, and garbage for every name would bring
// the next collection nearer.
func digest(hash uint64, text string) uint64 {
	for index := range len(text) {
		hash = (hash ^ uint64(text[index])) * digestPrime
	}
	return hash
}
