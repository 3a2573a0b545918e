package main

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxRate bounds what a mistyped rate can do to a machine.
const maxRate = 100_000

// parseRate reads requests a second.
func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(rate) || rate < 0 || rate > maxRate {
		return 0, fmt.Errorf("rate %q: write requests a second, a number from 0 to %d", text, maxRate)
	}
	return rate, nil
}

// controlHandler serves the generator's metrics, and its rate to read and to change.
func controlHandler(gatherer prometheus.Gatherer, requests *schedule, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(http.StatusOK)
	})
	answer := func(response http.ResponseWriter) {
		_, _ = fmt.Fprintln(response, strconv.FormatFloat(requests.currentRate(), 'f', -1, 64))
	}
	mux.HandleFunc("GET /rate", func(response http.ResponseWriter, _ *http.Request) { answer(response) })
	mux.HandleFunc("POST /rate", func(response http.ResponseWriter, request *http.Request) {
		rate, err := parseRate(request.FormValue("value"))
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		requests.setRate(now(), rate)
		answer(response)
	})
	return mux
}
