package main

import (
	"fmt"
	"strings"
	"time"
)

// The environment variables that choose where the demonstration plays.
const (
	keepVariable           = "DEMO_KEEP"
	kubeconfigVariable     = "DEMO_KUBECONFIG"
	imageVariable          = "DEMO_IMAGE"
	workloadImageVariable  = "DEMO_WORKLOAD_IMAGE"
	loadImageVariable      = "DEMO_LOAD_IMAGE"
	prometheusVariable     = "DEMO_PROMETHEUS"
	prometheusURLVariable  = "DEMO_PROMETHEUS_URL"
	scrapeIntervalVariable = "DEMO_SCRAPE_INTERVAL"
)

// usualScrapeInterval is what most installations of Prometheus have.
const usualScrapeInterval = 15 * time.Second

// choices are what the user chose.
type choices struct {
	keep bool
	// given is nil where the demonstration starts a cluster of its own.
	given *givenCluster
}

// givenCluster is a cluster of the user's.
type givenCluster struct {
	kubeconfig string
	names      imageNames
	// prometheus is its address in the cluster, prometheusURL that from here.
	prometheus, prometheusURL string
	scrapeInterval            time.Duration
}

// imageNames are what pods call the images.
type imageNames struct {
	operator, workload, load string
}

func readChoices(lookup func(string) (string, bool)) (choices, error) {
	get := func(name string) string { value, _ := lookup(name); return value }
	chosen := choices{keep: get(keepVariable) != "" && get(keepVariable) != "0"}
	given := &givenCluster{kubeconfig: get(kubeconfigVariable), scrapeInterval: usualScrapeInterval}
	var missing, set []string
	for name, value := range map[string]*string{
		imageVariable: &given.names.operator, workloadImageVariable: &given.names.workload, loadImageVariable: &given.names.load,
		prometheusVariable: &given.prometheus, prometheusURLVariable: &given.prometheusURL,
	} {
		if *value = get(name); *value == "" {
			missing = append(missing, name)
		} else {
			set = append(set, name)
		}
	}
	if text := get(scrapeIntervalVariable); text != "" {
		interval, err := time.ParseDuration(text)
		if err != nil || interval <= 0 {
			return choices{}, fmt.Errorf("read %s=%q: write a duration, such as 15s", scrapeIntervalVariable, text)
		}
		given.scrapeInterval = interval
	}
	switch {
	case given.kubeconfig == "" && len(set) > 0:
		return choices{}, fmt.Errorf("%s is set, but %s is not: set it to the kubeconfig of your cluster, or unset the rest for a cluster of the demonstration's own",
			sortedList(set), kubeconfigVariable)
	case given.kubeconfig != "" && len(missing) > 0:
		return choices{}, fmt.Errorf("%s is set: set %s too; the README says how images and Prometheus get to your cluster", kubeconfigVariable, sortedList(missing))
	case given.kubeconfig != "":
		chosen.given = given
	}
	return chosen, nil
}

func sortedList(names []string) string { return strings.Join(sorted(names), ", ") }
