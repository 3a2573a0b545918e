package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

const samplePolicy = "config/samples/demonstration.yaml"

// script is the policy that is applied, and what the demonstration needs to know of it.
type script struct {
	file, text string
	latency    objective
}

// objective is the policy's latency objective: so large a share of the requests may take longer than the threshold.
type objective struct {
	// edge of the histogram's buckets, as the label le has it.
	edge      string
	threshold string
	allowed   float64
}

func readScript() (script, error) {
	repository, err := programs.Repository()
	if err != nil {
		return script{}, err
	}
	read := script{file: filepath.Join(repository, samplePolicy)}
	text, err := os.ReadFile(read.file)
	if err != nil {
		return script{}, fmt.Errorf("read the policy: %w", err)
	}
	read.text = string(text)
	var policy v1alpha1.RuntimeTuningPolicy
	if err := yaml.UnmarshalStrict(text, &policy); err != nil {
		return script{}, fmt.Errorf("read the policy %s: %w", read.file, err)
	}
	read.latency, err = latencyObjective(policy.Spec.SLOs)
	return read, err
}

func latencyObjective(slos []v1alpha1.SLO) (objective, error) {
	for _, slo := range slos {
		if slo.Latency == nil {
			continue
		}
		target, err := strconv.ParseFloat(strings.TrimSuffix(string(slo.Latency.Target), "%"), 64)
		if err != nil {
			return objective{}, fmt.Errorf("read the target of objective %s: %w", slo.Name, err)
		}
		return objective{
			edge:      strconv.FormatFloat(slo.Latency.Threshold.Seconds(), 'g', -1, 64),
			threshold: slo.Latency.Threshold.Duration.String(), allowed: 1 - target/100,
		}, nil
	}
	return objective{}, fmt.Errorf("the policy %s has no latency objective, which the second act is about", samplePolicy)
}
