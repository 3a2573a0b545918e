package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

const (
	lookInterval = 500 * time.Millisecond
	// stalledFor is how long the policy may say that only a person can help, before the demonstration believes it. The
	// first samples of a service take a moment to arrive.
	stalledFor = 30 * time.Second
	// unreachableFor is how long the API server may not answer.
	unreachableFor = 30 * time.Second
)

// policyName is that of config/samples/demonstration.yaml.
var policyName = client.ObjectKey{Namespace: stage.WorkloadNamespace, Name: stage.WorkloadDeployment}

// follower looks at the policy and tells what happens.
type follower struct {
	client   client.Client
	output   *timeline
	narrator narrator

	policy  v1alpha1.RuntimeTuningPolicy
	lastly  time.Time // of the last answer
	stalled time.Time // since when it has been; zero where it is not
}

// until looks until done says so. What is waited for is named when it takes longer than the limit.
func (f *follower) until(ctx context.Context, what string, limit time.Duration, done func(*v1alpha1.RuntimeTuningPolicy) (bool, error)) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	f.lastly, f.stalled = time.Now(), time.Time{}
	for deadline := time.Now().Add(limit); ; {
		if err := f.look(ctx); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if reached, err := done(&f.policy); reached || err != nil {
			return err
		}
		f.output.waiting("%s", outlook(&f.policy, time.Now()))
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s; the policy says: %s", limit, what, outlook(&f.policy, time.Now()))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// look reads the policy once and tells what is new.
func (f *follower) look(ctx context.Context) error {
	var policy v1alpha1.RuntimeTuningPolicy
	if err := f.client.Get(ctx, policyName, &policy); err != nil {
		if ctx.Err() == nil && time.Since(f.lastly) < unreachableFor {
			return nil
		}
		return fmt.Errorf("read policy %s: %w", policyName, err)
	}
	f.lastly, f.policy = time.Now(), policy
	for _, told := range f.narrator.look(&policy) {
		f.output.say(told.subject, "%s", told.text)
	}
	return f.giveUpIfStalled()
}

func (f *follower) giveUpIfStalled() error {
	stalled := condition(&f.policy.Status, v1alpha1.ConditionStalled)
	switch {
	case stalled.Reason == "":
		f.stalled = time.Time{}
	case f.stalled.IsZero():
		f.stalled = time.Now()
	case time.Since(f.stalled) > stalledFor:
		return fmt.Errorf("the policy says that a person must help: %s: %s", stalled.Reason, stalled.Message)
	}
	return nil
}
