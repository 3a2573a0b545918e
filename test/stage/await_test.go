package stage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := Await(t.Context(), "the third try", time.Minute, func(context.Context) error {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		if err != nil || tries != 3 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
}

func TestAwaitSaysWhatWasAmiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		amiss := errors.New("no pod is ready")
		err := Await(t.Context(), "the pods", 5*time.Second, func(ctx context.Context) error {
			if deadline, _ := ctx.Deadline(); time.Until(deadline) < time.Second {
				<-ctx.Done()
				return ctx.Err()
			}
			return amiss
		})
		if !errors.Is(err, amiss) || !strings.Contains(err.Error(), "the pods") {
			t.Errorf("%v", err)
		}
	})
}

func TestAwaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := Await(ctx, "what never comes", time.Hour, func(context.Context) error { return errors.New("not yet") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestSettled(t *testing.T) {
	three := int32(3)
	for name, test := range map[string]struct {
		edit func(*appsv1.Deployment)
		want bool
	}{
		"all there":           {func(*appsv1.Deployment) {}, true},
		"not seen":            {func(d *appsv1.Deployment) { d.Generation++ }, false},
		"old pods left":       {func(d *appsv1.Deployment) { d.Status.Replicas++ }, false},
		"one not available":   {func(d *appsv1.Deployment) { d.Status.AvailableReplicas-- }, false},
		"one of the old kind": {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas-- }, false},
	} {
		deployment := appsv1.Deployment{
			Spec:   appsv1.DeploymentSpec{Replicas: &three},
			Status: appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
		}
		test.edit(&deployment)
		if err := settled(&deployment); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
