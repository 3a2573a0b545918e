package controllers

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/fleet"
)

// Fleet says what holds for the trials of all policies together, now.
type Fleet interface {
	Limits() fleet.Limits
}

// limits are the defaults where the reconciler was given no others.
func (r *Reconciler) limits() fleet.Limits {
	if r.Fleet == nil {
		return fleet.Defaults()
	}
	return r.Fleet.Limits()
}

// stopped says why no trial of the fleet may start or go on; empty where they may.
func stopped(limits fleet.Limits) string {
	switch {
	case limits.Fault != "":
		return limits.Fault
	case limits.Stop != fleet.StopNone:
		return fmt.Sprintf("trials.stop is %s in the manager's configuration", limits.Stop)
	}
	return ""
}

func fleetStopped(_ context.Context, p *pass) (*summary, error) {
	why := stopped(p.fleet)
	if why == "" {
		return nil, nil
	}
	stop := well(v1alpha1.ReasonFleetStopped, why+": no trial starts")
	return &stop, nil
}

// admissions counts the trials of all policies. Looks at several policies go on at once: which of them may start the last trial is decided under
// one lock, and a trial counts from then on, whatever a cache says. What was admitted before this manager started, the API server tells.
type admissions struct {
	mutex    sync.Mutex
	admitted map[types.NamespacedName]bool
}

// saw drops a trial that has ended, or whose start was never written: the policy was just read from the API server itself.
func (a *admissions) saw(policy types.NamespacedName, running bool) {
	if running {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.admitted, policy)
}

// tooMany says that as many trials as may run at a time are running, as far as the cache knows. Those that wait ask at every look.
func (r *Reconciler) tooMany(ctx context.Context, p *pass) (*summary, error) {
	r.admissions.mutex.Lock()
	defer r.admissions.mutex.Unlock()
	return r.admissions.full(ctx, r.Client, p)
}

// admit lets a trial of the policy start, or says why not. The API server itself has the last word.
func (r *Reconciler) admit(ctx context.Context, p *pass) (*summary, error) {
	r.admissions.mutex.Lock()
	defer r.admissions.mutex.Unlock()
	if waiting, err := r.admissions.full(ctx, r.Server, p); err != nil || waiting != nil {
		return waiting, err
	}
	if r.admissions.admitted == nil {
		r.admissions.admitted = map[types.NamespacedName]bool{}
	}
	r.admissions.admitted[p.name()] = true
	return nil, nil
}

func (a *admissions) full(ctx context.Context, reader client.Reader, p *pass) (*summary, error) {
	here, everywhere, err := a.count(ctx, reader, p.policy.Namespace)
	switch {
	case err != nil:
		return nil, err
	case here >= p.fleet.PerNamespace:
		return waitForOthers("%d trials run in namespace %s, of %d at a time: trials.perNamespace in the manager's configuration", here, p.policy.Namespace, p.fleet.PerNamespace), nil
	case everywhere >= p.fleet.PerCluster:
		return waitForOthers("%d trials run in the cluster, of %d at a time: trials.perCluster in the manager's configuration", everywhere, p.fleet.PerCluster), nil
	}
	return nil, nil
}

func waitForOthers(format string, args ...any) *summary {
	return well(v1alpha1.ReasonTooManyTrials, fmt.Sprintf(format, args...)).asMeasured()
}

// count gives how many trials run in a namespace, and in all. One that only waits for the next rollout replaces nothing, and does not count.
func (a *admissions) count(ctx context.Context, reader client.Reader, namespace string) (here, everywhere int, err error) {
	var policies v1alpha1.RuntimeTuningPolicyList
	if err := reader.List(ctx, &policies); err != nil {
		return 0, 0, fmt.Errorf("list all policies to count the trials that run: %w", err)
	}
	running := map[types.NamespacedName]bool{}
	for name := range a.admitted {
		running[name] = true
	}
	for i := range policies.Items {
		policy := &policies.Items[i]
		if trial := policy.Status.Trial; trial != nil {
			waits := policy.Spec.Rollout.Promotion.As == v1alpha1.PromotionNextRollout && trial.Stage == v1alpha1.StagePromoting
			running[client.ObjectKeyFromObject(policy)] = !waits
		}
	}
	for name, counts := range running {
		if !counts {
			continue
		}
		everywhere++
		if name.Namespace == namespace {
			here++
		}
	}
	return here, everywhere, nil
}
