package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// order is the document of a request: what a client would post, and the service would validate and price.
type order struct {
	Number uint64 `json:"number"`
	Lines  []line `json:"lines"`
}

type line struct {
	Product string  `json:"product"`
	Number  uint64  `json:"number"`
	Offers  []price `json:"offers"`
}

type price struct {
	Seller string `json:"seller"`
	Cents  int64  `json:"cents"`
}

// receipt is the answer: small, so that sending it costs little beside the work.
type receipt struct {
	Number  uint64 `json:"number"`
	Lines   int    `json:"lines"`
	Fields  int    `json:"fields"`
	Cents   int64  `json:"cents"`
	Saved   int64  `json:"saved"`
	Version uint64 `json:"version"` // of the market that the order was priced against
}

// serveDocument does one request's work: it writes a document from the catalogue, reads it back, as itself and as a
// tree of unknown shape, and prices it against the market. Nearly everything that it allocates is garbage when it returns.
func serveDocument(stock *catalogue, lines int) (receipt, error) {
	request := stock.next()
	defer stock.age(request)
	prices := stock.market.get(stock)

	var posted bytes.Buffer
	if err := json.NewEncoder(&posted).Encode(newOrder(stock, request, lines)); err != nil {
		return receipt{}, fmt.Errorf("encode the order: %w", err)
	}
	body, err := io.ReadAll(&posted) // as most handlers read a body: into a buffer that grows
	if err != nil {
		return receipt{}, fmt.Errorf("read the order: %w", err)
	}
	var got order
	if err := json.Unmarshal(body, &got); err != nil {
		return receipt{}, fmt.Errorf("decode the order: %w", err)
	}
	var tree any
	if err := json.Unmarshal(body, &tree); err != nil {
		return receipt{}, fmt.Errorf("decode the order as a tree: %w", err)
	}
	cents, saved := cheapest(got, prices)
	return receipt{
		Number: got.Number, Lines: len(got.Lines), Fields: countFields(tree),
		Cents: cents, Saved: saved, Version: prices.version,
	}, nil
}

func newOrder(stock *catalogue, request uint64, lines int) order {
	made := order{Number: request}
	stock.pick(request, lines, func(picked *product) {
		next := line{Product: picked.name, Number: picked.number}
		for offered := picked.offers; offered != nil; offered = offered.next {
			next.Offers = append(next.Offers, price{Seller: offered.seller, Cents: offered.cents})
		}
		made.Lines = append(made.Lines, next)
	})
	return made
}

// cheapest adds up every line's lowest price, and what that saves against its seller's mean price.
func cheapest(priced order, prices *market) (cents, saved int64) {
	for _, line := range priced.Lines {
		if len(line.Offers) == 0 {
			continue
		}
		lowest := slices.MinFunc(line.Offers, func(a, b price) int { return cmp.Compare(a.Cents, b.Cents) })
		cents += lowest.Cents
		saved += prices.average(lowest.Seller) - lowest.Cents
	}
	return cents, saved
}

// countFields counts the leaves of a decoded document.
func countFields(tree any) int {
	count := 0
	switch node := tree.(type) {
	case map[string]any:
		for _, child := range node {
			count += countFields(child)
		}
	case []any:
		for _, child := range node {
			count += countFields(child)
		}
	default:
		count = 1
	}
	return count
}
