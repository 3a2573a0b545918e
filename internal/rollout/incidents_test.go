package rollout

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// incident is something that happens to a trial at a time of its own.
type incident struct {
	at     time.Duration
	name   string
	strike func(*manager)
}

// kinds are all incidents, by name. Those that last are undone by calm.
var kinds = map[string]func(*manager){
	"candidate slow":    func(m *manager) { m.data.slow = 0.2 },
	"all slow":          func(m *manager) { m.data.slowAll = 0.2 },
	"no gain":           func(m *manager) { m.data.gain = 0 },
	"few cycles":        func(m *manager) { m.data.fewCycles = true },
	"override":          func(m *manager) { m.data.overridden = true },
	"data fault":        func(m *manager) { m.data.fault = dataFaults[m.random.IntN(len(dataFaults))] },
	"data back":         func(m *manager) { m.data.fault = "" },
	"restart":           func(m *manager) { m.anyPod(func(pod *worldPod) { pod.Restarts++ }) },
	"restart of canary": func(m *manager) { m.anyCanary(func(pod *worldPod) { pod.Restarts++ }) },
	"OOM of canary": func(m *manager) {
		m.anyCanary(func(pod *worldPod) { pod.OOMKilled, pod.Restarts = true, pod.Restarts+1 })
	},
	"canary unready":    func(m *manager) { m.anyCanary(func(pod *worldPod) { m.unready(pod, time.Hour) }) },
	"canary wavers":     func(m *manager) { m.anyCanary(func(pod *worldPod) { m.unready(pod, 10*time.Second) }) },
	"pod unready":       func(m *manager) { m.anyPod(func(pod *worldPod) { m.unready(pod, 2*time.Minute) }) },
	"outage":            func(m *manager) { m.outage() },
	"canary lost":       func(m *manager) { m.anyCanary(func(pod *worldPod) { m.terminate(pod) }) },
	"pod lost":          func(m *manager) { m.anyPod(func(pod *worldPod) { m.terminate(pod) }) },
	"webhook down":      func(m *manager) { m.webhookDown = true },
	"webhook up":        func(m *manager) { m.webhookDown = false },
	"webhook undone":    func(m *manager) { m.undone = "settings" },
	"webhook garbled":   func(m *manager) { m.undone = "unreadable" },
	"scale up":          func(m *manager) { m.replicas += 1 + m.random.IntN(4) },
	"scale down":        func(m *manager) { m.replicas = max(0, m.replicas-1-m.random.IntN(3)) },
	"scale to zero":     func(m *manager) { m.replicas = 0 },
	"new revision":      func(m *manager) { m.roll(m.footings[m.revision]) },
	"Git declares more": func(m *manager) { m.roll(settings.Footing{Declared: settings.Settings{GOGC: 50}}) },
	"Git declares candidate": func(m *manager) {
		m.roll(settings.Footing{Declared: m.candidate})
	},
	"paused rollout":   func(m *manager) { m.paused = true },
	"hold":             func(m *manager) { m.hold = true },
	"go on":            func(m *manager) { m.hold = false },
	"suspend":          func(m *manager) { m.stop = &Stop{v1alpha1.ReasonSuspended, "spec.suspend is Revert"} },
	"mode changed":     func(m *manager) { m.stop = &Stop{v1alpha1.ReasonModeChanged, "spec.mode is Observe"} },
	"policy deleted":   func(m *manager) { m.delete() },
	"killed unwritten": func(m *manager) { m.dropWrites = 1 + m.random.IntN(3) },
	"killed written":   func(m *manager) { m.dropActions = 1 + m.random.IntN(3) },
	"manager away":     func(m *manager) { m.awayFor = 30 + m.random.IntN(900) },
	"clock jumps":      func(m *manager) { m.now = m.now.Add(time.Duration(1+m.random.IntN(1200)) * time.Second) },
	"evictions denied": func(m *manager) { m.blocked = true },
	"evictions back":   func(m *manager) { m.blocked = false },
	"never ready":      func(m *manager) { m.neverReady = true },
	"stuck node":       func(m *manager) { m.stuck = true },
	"fewer steps":      func(m *manager) { m.plan.Steps = m.plan.Steps[:max(1, len(m.plan.Steps)-1)] },
	"more steps": func(m *manager) {
		m.plan.Steps = append(slices.Clone(m.plan.Steps), Step{intstr.FromString("60%"), 20 * time.Second})
	},
	"quota used up": func(m *manager) { m.quota = m.replicas },
	"bolder":        func(m *manager) { m.plan.MaxUnavailable = intstr.FromInt32(3) },
}

// calm ends what would last, so that the trial must come to its end.
func calm(m *manager) {
	m.hold, m.paused, m.blocked, m.stuck, m.neverReady, m.webhookDown, m.undone, m.awayFor = false, false, false, false, false, false, "", 0
	m.quota = 0
	for _, pod := range m.pods {
		if pod.Terminating && pod.goneAt.IsZero() {
			pod.goneAt = m.now
		}
		if pod.readyAt.IsZero() || pod.readyAt.After(m.now) {
			pod.readyAt = m.now.Add(5 * time.Second)
		}
	}
}

func (m *manager) anyPod(do func(*worldPod)) {
	if pods := m.find(func(pod *worldPod) bool { return !pod.Terminating }); len(pods) > 0 {
		do(pods[m.random.IntN(len(pods))])
	}
}

func (m *manager) anyCanary(do func(*worldPod)) {
	if pods := m.find(func(pod *worldPod) bool { return !pod.Terminating && runs(pod.Pod, m.candidate) }); len(pods) > 0 {
		do(pods[m.random.IntN(len(pods))])
	}
}

func (m *manager) unready(pod *worldPod, howLong time.Duration) {
	pod.Ready, pod.ReadyChangedAt, pod.readyAt = false, m.now, m.now.Add(howLong)
}

// outage takes half of the pods down for a while.
func (m *manager) outage() {
	for i, pod := range m.pods {
		if i%2 == 0 && !pod.Terminating {
			m.unready(pod, 3*time.Minute)
		}
	}
}

// roll gives the target a new template.
func (m *manager) roll(footing settings.Footing) {
	m.revision = types.UID("rs-" + string(rune('2'+len(m.footings)-1)))
	m.footings[m.revision] = footing
}

func (m *manager) delete() {
	m.gone = true
	m.stop = &Stop{v1alpha1.ReasonPolicyDeleted, "the policy is being deleted"}
}
