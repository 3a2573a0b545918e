package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// liveHeap returns the bytes that survive a collection.
func liveHeap() int64 {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64())
}

func TestCatalogueHasTheChosenSize(t *testing.T) {
	const want = 32 << 20
	before := liveHeap()
	stock := newCatalogue(want)
	grown := liveHeap() - before
	if grown < want*95/100 || grown > want*105/100 {
		t.Errorf("the live heap grew by %d bytes, want about %d", grown, want)
	}
	for range 20 * len(stock.products) / renewals {
		stock.age(renewEvery)
	}
	aged := liveHeap() - before
	if aged < want*95/100 || aged > want*105/100 {
		t.Errorf("after 20 renewals of everything it is %d bytes, want about %d", aged, want)
	}
	runtime.KeepAlive(stock)
}

func TestCatalogueAges(t *testing.T) {
	stock := newCatalogue(100 * productBytes)
	first := stock.products[0]
	for request := range uint64(renewEvery) {
		stock.age(request + 1)
	}
	if stock.products[0] == first {
		t.Errorf("%d requests replaced nothing", renewEvery)
	}
	if stock.products[renewals] == nil || stock.products[renewals].number >= 100 {
		t.Errorf("they replaced more than %d products", renewals)
	}
}

func TestPickReachesEveryProduct(t *testing.T) {
	stock := newCatalogue(1000 * productBytes)
	seen := map[*product]bool{}
	for request := range uint64(100) {
		stock.pick(request, 10, func(picked *product) { seen[picked] = true })
	}
	if len(seen) != len(stock.products) {
		t.Errorf("1000 picks reached %d of %d products", len(seen), len(stock.products))
	}
}

func TestServeDocument(t *testing.T) {
	stock := newCatalogue(1000 * productBytes)
	answer, err := serveDocument(stock, 10)
	if err != nil {
		t.Fatal(err)
	}
	wantFields := 1 + 10*(2+2*offersPerProduct)
	if answer.Lines != 10 || answer.Fields != wantFields || answer.Cents <= 0 {
		t.Errorf("the receipt is %+v, want 10 lines, %d fields and a price", answer, wantFields)
	}
}

func TestServeDocumentAllocatesLikeAService(t *testing.T) {
	stock := newCatalogue(1000 * productBytes)
	allocations := testing.AllocsPerRun(20, func() {
		if _, err := serveDocument(stock, 40); err != nil {
			t.Error(err)
		}
	})
	if allocations < 200 {
		t.Errorf("a request allocates %v objects, want at least 200", allocations)
	}
}

func TestMarketCache(t *testing.T) {
	stock := newCatalogue(100 * productBytes)
	kept := stock.market.get(stock)
	runtime.GC()
	if stock.market.get(stock) != kept {
		t.Error("a collection empties the cache without being asked to")
	}
	if average := kept.average("seller-1000"); average < 100 {
		t.Errorf("a seller's average is %d cents", average)
	}
	if average := kept.average("nobody"); average != 0 {
		t.Errorf("nobody's average is %d cents", average)
	}
}

func TestMarketCacheEmptiesAtEveryCollection(t *testing.T) {
	stock := newCatalogue(100 * productBytes)
	stock.market.emptyAtCollections()
	for range 3 {
		kept := stock.market.get(stock)
		deadline := time.After(10 * time.Second)
		for stock.market.get(stock) == kept {
			select {
			case <-deadline:
				t.Fatal("collections leave the cache full")
			default:
				runtime.GC() // the cleanup runs some time after a collection
			}
		}
	}
}
