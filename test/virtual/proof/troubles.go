package proof

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// troubles are what the cluster has, each for a while.
var troubles = []deed{
	{"webhook down", func(r *run) { r.forAWhile(func(on bool) { r.weather.webhookDown = on }) }},
	{"webhook undone by another", func(r *run) { r.forAWhile(func(on bool) { r.weather.webhookUndone = on }) }},
	{"webhook caches old", func(r *run) {
		for _, w := range r.webhooks {
			lag := r.between(time.Second, time.Minute)
			r.forAWhile(func(on bool) { w.lag = when(on, lag) })
		}
	}},
	{"webhook without API server", func(r *run) {
		w := r.webhooks[r.random.IntN(len(r.webhooks))]
		r.forAWhile(func(on bool) { w.unreachable = on })
	}},
	{"caches old", func(r *run) {
		lag := r.between(time.Second, time.Minute)
		r.forAWhile(func(on bool) { r.weather.lag = when(on, lag) })
	}},
	{"API server in trouble", func(r *run) {
		r.forAWhile(func(on bool) {
			r.weather.faults = r.scenario.faults
			if on {
				r.weather.faults = 0.4
			}
		})
	}},
	{"manager killed", func(r *run) {
		for _, m := range r.living() {
			m.die(r.between(time.Second, 40*time.Second))
		}
	}},
	{"manager away", func(r *run) {
		for _, m := range r.living() {
			m.die(r.between(time.Minute, 15*time.Minute))
		}
	}},
	{"two managers", func(r *run) {
		if living := r.living(); len(living) == 1 {
			r.twoManagers(living[0])
		}
	}},
	{"clock jumps", func(r *run) {
		for _, m := range r.living() {
			m.skew += r.between(-3*time.Minute, 10*time.Minute)
		}
	}},
	{"Prometheus", func(r *run) {
		fault := cluster.ShownFaults[r.random.IntN(len(cluster.ShownFaults))]
		r.count("Prometheus: " + string(fault))
		r.forAWhile(func(on bool) {
			r.cluster.Service.Shown = cluster.Honest
			if on {
				r.cluster.Service.Shown = fault
			}
		})
	}},
	{"all pods in trouble", func(r *run) {
		harm := cluster.Harms[r.random.IntN(len(cluster.Harms))]
		before := r.cluster.Service
		r.forAWhile(func(on bool) {
			r.cluster.Service.Harm, r.cluster.Service.HarmAll = before.Harm, before.HarmAll
			if on {
				r.cluster.Service.Harm, r.cluster.Service.HarmAll = harm, true
			}
		})
	}},
	{"node lost", func(r *run) {
		r.cluster.LoseNode(fmt.Sprintf("node-%d", r.random.IntN(r.cluster.Nodes)), r.between(20*time.Second, 12*time.Minute))
	}},
	{"no room", func(r *run) { r.forAWhile(func(on bool) { r.cluster.Trouble.NoRoom = on }) }},
	{"no room for long", func(r *run) { r.lasting(func(on bool) { r.cluster.Trouble.NoRoom = on }) }},
	{"never ready", func(r *run) { r.forAWhile(func(on bool) { r.cluster.Trouble.NeverReady = on }) }},
	{"never ready for long", func(r *run) { r.lasting(func(on bool) { r.cluster.Trouble.NeverReady = on }) }},
	{"pods do not end", func(r *run) { r.forAWhile(func(on bool) { r.cluster.Trouble.Stuck = on }) }},
	{"no quota", func(r *run) { r.forAWhile(func(on bool) { r.cluster.Trouble.NoQuota = on }) }},
	{"a pod crashes", func(r *run) { r.anyPod(r.crash("Error")) }},
	{"a pod runs out of memory", func(r *run) { r.anyPod(r.crash("OOMKilled")) }},
	{"a canary crashes", func(r *run) { r.anyCanary(r.crash("Error")) }},
	{"a canary is not ready", func(r *run) { r.anyCanary(r.unready) }},
	{"a pod is not ready", func(r *run) { r.anyPod(r.unready) }},
	{"canaries deleted again and again", func(r *run) {
		for i := range 20 {
			r.cluster.After(time.Duration(i)*15*time.Second, r.deleteCanaries)
		}
	}},
}

func when(on bool, length time.Duration) time.Duration {
	if on {
		return length
	}
	return 0
}

// forAWhile switches something on, and off again.
func (r *run) forAWhile(set func(on bool)) { r.until(set, r.between(5*time.Second, 4*time.Minute)) }

// lasting trouble is longer than every deadline.
func (r *run) lasting(set func(on bool)) { r.until(set, 15*time.Minute) }

func (r *run) until(set func(on bool), length time.Duration) {
	set(true)
	r.cluster.After(length, func() {
		if r.busy { // calm has ended it
			set(false)
		}
	})
}

func (r *run) crash(reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { r.cluster.Crash(client.ObjectKeyFromObject(pod), pod.UID, reason) }
}

func (r *run) unready(pod *corev1.Pod) {
	r.cluster.Unready(client.ObjectKeyFromObject(pod), pod.UID, r.between(5*time.Second, 2*time.Minute))
}
