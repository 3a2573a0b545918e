package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const (
	// The limits are for a machine that is busy with other things: each act takes less than half of it on a quiet one.
	promotionLimit = 9 * time.Minute
	revertLimit    = 6 * time.Minute
)

// harmfulBytes is the GOMEMLIMIT of the second act: far below the live heap, so that the collector never rests.
const harmfulBytes = 8 << 20

// harmful is the patch of the policy that has it tried.
func harmful() string {
	limit := resource.NewQuantity(harmfulBytes, resource.BinarySI)
	return fmt.Sprintf(`{"spec":{"strategy":{"type":"Manual","manual":{"candidates":[{"gomemlimit":"%s"}]}}}}`, limit)
}

// show is a demonstration under way.
type show struct {
	venue  *venue
	output *timeline
	client client.Client
	config *rest.Config
	meter  meter
	script script
	follow follower
	result result
	// compared are the pods that the last step of the promoted trial was judged by.
	compared cohorts
}

func newShow(ctx context.Context, output *timeline, place *venue) (*show, error) {
	config, err := place.config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make a client of the cluster: %w", err)
		}
	}
	clients, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	read, err := readScript()
	if err != nil {
		return nil, err
	}
	asked, err := newMeter(place.prometheusURL, read.latency)
	if err != nil {
		return nil, err
	}
	made := &show{venue: place, output: output, client: clients, config: config, meter: asked, script: read}
	made.follow = follower{client: clients, output: output}
	made.result, err = describe(ctx, config, asked)
	made.result.Policy = read.text
	return made, err
}

// play plays all acts, and saves what was measured, also where it did not come to its end.
func (s *show) play(ctx context.Context) error {
	failed := s.acts(ctx)
	s.result.Reached = failed == nil
	if failed != nil {
		s.result.Failure = failed.Error()
	}
	s.result.Seconds, s.result.Timeline = s.output.elapsed().Round(time.Second).Seconds(), s.output.entries
	file, err := s.result.save()
	if err != nil {
		return fmt.Errorf("%w (and %w)", failed, err)
	}
	if failed != nil {
		return failed
	}
	s.output.text(s.result.table(s.script.latency))
	s.output.say("end", "both ends were reached, by measurement; the figures with their PromQL are in %s", file)
	return nil
}

func (s *show) acts(ctx context.Context) error {
	if err := s.venue.install(ctx, s.output); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{s.apply, s.promotion, s.compare, s.harm} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// apply shows the policy, and applies it.
func (s *show) apply(ctx context.Context) error {
	s.output.text(fmt.Sprintf("The policy, from %s. Its times are for a demonstration; the defaults are minutes and hours.\n\n%s", samplePolicy, indent(s.script.text)))
	if _, err := s.venue.kube.Run(ctx, "", "apply", "--server-side", "--filename", s.script.file); err != nil {
		return fmt.Errorf("apply the policy: %w", err)
	}
	s.output.say("policy", "applied: from here on the operator acts by itself")
	return nil
}

// promotion waits until the operator has promoted a candidate of its own.
func (s *show) promotion(ctx context.Context) error {
	err := s.follow.until(ctx, "a promotion", promotionLimit, func(policy *v1alpha1.RuntimeTuningPolicy) (bool, error) {
		s.compared.note(policy.Status.Trial)
		history := policy.Status.History
		return policy.Status.Trial == nil && len(history) > 0 && history[0].Result == v1alpha1.TrialPromoted, nil
	})
	if err == nil {
		s.result.Promotion.Trial = s.follow.policy.Status.History[0]
	}
	return err
}

// compare measures the pods of the last step, canary beside control and at the same time, and holds the operator to what it promised.
func (s *show) compare(ctx context.Context) error {
	trial := s.result.Promotion.Trial
	if trial.Verdict == nil || trial.Previous == nil {
		return fmt.Errorf("trial %d was promoted without a verdict, or its record does not say what was there before", trial.Number)
	}
	until := trial.Verdict.At.Time
	window := until.Sub(s.compared.warm).Truncate(time.Second)
	for _, one := range []struct {
		sheet    *sheet
		settings v1alpha1.RuntimeSettings
		pods     []string
	}{
		{&s.result.Promotion.Control, trial.Previous.Settings, s.compared.control}, {&s.result.Promotion.Canary, trial.Candidate, s.compared.canary},
	} {
		measured, err := s.meter.measure(ctx, settingsText(one.settings), one.pods, until, window)
		if err != nil {
			return err
		}
		*one.sheet = measured
	}
	pods, err := s.readyPods(ctx)
	if err != nil {
		return err
	}
	if err := s.runsEverywhere(ctx, trial.Candidate, names(pods)); err != nil {
		return err
	}
	control, canary := s.result.Promotion.Control, s.result.Promotion.Canary
	was, is := control.value(gcCPUPerRequest), canary.value(gcCPUPerRequest)
	s.output.say("measured", "at the same time, over %s: GC takes %s of CPU time a request with %s, and %s with %s (%s)", canary.Window,
		written(perRequest, was), control.Settings, written(perRequest, is), canary.Settings, change(was, is))
	if !(is < was) {
		return fmt.Errorf("the operator promoted %s, but the demonstration's own measurement shows no gain: the machine may be too busy to measure on; try again when it is quiet", canary.Settings)
	}
	return nil
}

// harm has the operator try settings that hurt, while a witness looks on.
func (s *show) harm(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	promoted, err := settings.FromAPI(s.result.Promotion.Trial.Candidate)
	if err != nil {
		return fmt.Errorf("read the promoted settings: %w", err)
	}
	bad := promoted
	bad.MemoryLimitBytes = harmfulBytes
	witness, err := startWitness(watching, s.config, s.meter, bad.Canonical())
	if err != nil {
		return err
	}
	if _, err := s.venue.kube.Run(ctx, "", "patch", "rtp", policyName.Name, "--namespace", policyName.Namespace, "--type", "merge", "--patch", harmful()); err != nil {
		return fmt.Errorf("put the harmful candidate into the policy: %w", err)
	}
	s.output.say("policy", "patched: try GOMEMLIMIT=%dMiB, far less than the service keeps alive; no pod is to keep that", harmfulBytes>>20)
	number, after := int64(0), s.result.Promotion.Trial.Number
	err = s.follow.until(ctx, "the revert of a harmful candidate", revertLimit, func(policy *v1alpha1.RuntimeTuningPolicy) (bool, error) {
		if trial := policy.Status.Trial; trial != nil && trial.Number != number {
			number = trial.Number
			witness.forget()
		}
		s.result.Revert.note(policy.Status.Trial)
		return s.reverted(policy, after)
	})
	if err != nil {
		return err
	}
	return s.testify(ctx, witness.testify())
}
