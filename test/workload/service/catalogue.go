package main

import (
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	sellers          = 1000
	offersPerProduct = 5

	// productBytes is what one product with its offers and names takes in the heap, by size classes: the product, its
	// name, its place in the slice, and per offer the offer and its name. A test compares it with the heap's growth.
	productBytes = 32 + 24 + 8 + offersPerProduct*(32+16)

	// stride walks the catalogue in an order that jumps about in memory. It is a prime, so that every product gets its
	// turn in a catalogue of any other size.
	stride = 7919

	// renewals is how many products one renewal replaces, and renewEvery how many requests pass between two. It makes
	// old objects die, as in a cache, without becoming a cost of its own.
	renewals   = 16
	renewEvery = 8
)

// offer is one of a product's prices: small, behind a pointer, in a list, because that is what makes marking cost.
type offer struct {
	seller string
	cents  int64
	next   *offer
}

// product is an entry of the live heap.
type product struct {
	name   string
	number uint64
	offers *offer
}

func newProduct(number uint64) *product {
	fresh := &product{name: "product-" + strconv.FormatUint(1_000_000_000+number, 10), number: number}
	for count := range uint64(offersPerProduct) {
		fresh.offers = &offer{
			seller: "seller-" + strconv.FormatUint(1000+(number+count)%sellers, 10),
			cents:  int64(100 + (number*31+count*17)%9900),
			next:   fresh.offers,
		}
	}
	return fresh
}

// catalogue is the live heap: a cache of products, each behind several pointers.
type catalogue struct {
	mutex    sync.RWMutex
	products []*product
	created  uint64
	requests atomic.Uint64
	market   marketCache
}

// newCatalogue fills a heap of about so many bytes.
func newCatalogue(liveBytes int) *catalogue {
	c := &catalogue{products: make([]*product, max(liveBytes/productBytes, 1))}
	for index := range c.products {
		c.products[index] = newProduct(c.created)
		c.created++
	}
	return c
}

// next numbers a request; the number picks the request's products.
func (c *catalogue) next() uint64 {
	return c.requests.Add(1)
}

// pick calls visit with so many products, others for every request. visit must not keep them.
func (c *catalogue) pick(request uint64, count int, visit func(*product)) {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	first := request * uint64(count)
	for offset := range uint64(count) {
		visit(c.products[(first+offset)*stride%uint64(len(c.products))])
	}
}

// each calls visit with every product. visit must not keep them.
func (c *catalogue) each(visit func(*product)) {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	for _, listed := range c.products {
		visit(listed)
	}
}

// age replaces a few products after every so many requests.
func (c *catalogue) age(request uint64) {
	if request%renewEvery != 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for range renewals {
		c.products[c.created%uint64(len(c.products))] = newProduct(c.created)
		c.created++
	}
}
