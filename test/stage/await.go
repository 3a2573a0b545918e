package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

const pollInterval = time.Second

// Await polls until check returns nil. Where that takes longer than the limit, its error names what was waited for and
// what check said last.
func Await(ctx context.Context, what string, limit time.Duration, check func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		err := check(within)
		if err == nil {
			return nil
		}
		// What the end of the time did to the check itself says nothing of what is amiss.
		if within.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ticker.C:
		case <-within.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("wait for %s: %w", what, ctx.Err())
			}
			return fmt.Errorf("waited %s for %s: %w", limit, what, last)
		}
	}
}

// AwaitDeployment waits until every replica runs the present template and is available. Its error shows the namespace's
// pods and latest events.
func (k Kube) AwaitDeployment(ctx context.Context, namespace, name string, limit time.Duration) error {
	err := Await(ctx, fmt.Sprintf("Deployment %s/%s", namespace, name), limit, func(ctx context.Context) error {
		var deployment appsv1.Deployment
		if err := k.Get(ctx, &deployment, "deployment", name, "--namespace", namespace); err != nil {
			return err
		}
		return settled(&deployment)
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\n%s", err, k.Explain(ctx, namespace))
	}
	return err
}

func settled(deployment *appsv1.Deployment) error {
	want := int32(1)
	if deployment.Spec.Replicas != nil {
		want = *deployment.Spec.Replicas
	}
	status := deployment.Status
	if status.ObservedGeneration < deployment.Generation {
		return fmt.Errorf("its controller has not seen it yet")
	}
	if status.UpdatedReplicas != want || status.AvailableReplicas != want || status.Replicas != want {
		return fmt.Errorf("%d of %d pods are available, %d have the present template, %d are there",
			status.AvailableReplicas, want, status.UpdatedReplicas, status.Replicas)
	}
	return nil
}

// shownEvents is how many of a namespace's events help; older ones are about what is over.
const shownEvents = 12

// Explain shows a namespace's pods and latest events to a person, when something did not come about.
func (k Kube) Explain(ctx context.Context, namespace string) string {
	pods, err := k.Run(ctx, "", "get", "pods", "--namespace", namespace, "--output", "wide")
	if err != nil {
		pods = err.Error()
	}
	events, err := k.Run(ctx, "", "get", "events", "--namespace", namespace, "--sort-by", ".lastTimestamp",
		"--output", "custom-columns=OBJECT:.involvedObject.name,REASON:.reason,MESSAGE:.message")
	if err != nil {
		events = err.Error()
	}
	lines := strings.Split(strings.TrimSpace(events), "\n")
	if len(lines) > shownEvents {
		lines = append(lines[:1], lines[len(lines)-shownEvents:]...)
	}
	return fmt.Sprintf("pods of %s:\n%s\nlatest events:\n%s", namespace, strings.TrimSpace(pods), strings.Join(lines, "\n"))
}
