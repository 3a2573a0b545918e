package rollout

import (
	"cmp"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// Actions are what is to be done to pods.
type Actions struct {
	// Evict are pods to evict.
	Evict []Pod
	// HandOver are pods to take from their ReplicaSet, which starts successors while they serve on.
	HandOver []Pod
	// GiveBack undoes a hand-over.
	GiveBack []GiveBack
	// Spare are pods that their ReplicaSet need no longer drop before others.
	Spare []Pod
}

// GiveBack puts a pod under its ReplicaSet again, which then has one too many.
type GiveBack struct {
	Pod Pod
	// Drop is the one that the ReplicaSet is to drop; without a UID where there is none.
	Drop Pod
}

func (a *Actions) add(more Actions) {
	a.Evict = append(a.Evict, more.Evict...)
	a.HandOver = append(a.HandOver, more.HandOver...)
	a.GiveBack = append(a.GiveBack, more.GiveBack...)
	a.Spare = append(a.Spare, more.Spare...)
}

// None says that there is nothing to do.
func (a Actions) None() bool { return len(a.Evict)+len(a.HandOver)+len(a.GiveBack)+len(a.Spare) == 0 }

// Replace turns pods that are wanted gone into actions, and brings to an end what was begun before with pods that are handed over.
func Replace(view View, wanted []Pod) Actions {
	actions := paced(view, wanted)
	actions.add(settle(afterwards(view, actions)))
	return actions
}

// paced replaces no more pods at a time than maxUnavailable has down, also where none goes down.
func paced(view View, wanted []Pod) Actions {
	return replace(view, wanted, min(view.Surge, view.Plan.Unavailable(view.Replicas))-len(handedOver(view.Pods)))
}

// replace hands over, where the target may surge, as many of those that are ready as there is room for. One that is not ready serves nobody, and is
// evicted.
func replace(view View, wanted []Pod, room int) Actions {
	wanted = owned(wanted)
	if view.Surge <= 0 {
		return Actions{Evict: Affordable(view.Plan, view.Replicas, view.Pods, wanted)}
	}
	var actions Actions
	for _, pod := range wanted {
		switch {
		case !pod.Ready:
			actions.Evict = append(actions.Evict, pod)
		case room > 0:
			actions.HandOver = append(actions.HandOver, pod)
			room--
		}
	}
	return actions
}

// replaceAtOnce takes pods down that do harm: a bad pod must not serve on until its successor is up. As many go at once as may be down, but never
// the last that serves; and as many as may surge are handed over, among them, where they are few, those that go at once: a budget may refuse that.
func replaceAtOnce(view View, wanted []Pod, room int) Actions {
	if view.Surge <= 0 {
		return replace(view, wanted, room)
	}
	actions := Actions{HandOver: replace(view, wanted, room).HandOver}
	serving := 0
	for _, pod := range living(view.Pods) {
		if pod.Ready {
			serving++
		}
	}
	slices.SortStableFunc(wanted, func(a, b Pod) int { return cmp.Compare(indexIn(actions.HandOver, a), indexIn(actions.HandOver, b)) })
	for _, pod := range Affordable(view.Plan, view.Replicas, view.Pods, wanted) {
		if pod.Ready && serving == 1 {
			continue
		}
		if pod.Ready {
			serving--
		}
		actions.Evict = append(actions.Evict, pod)
	}
	return actions
}

// settle brings to an end what was begun with pods that are handed over. They are evicted as soon as the target has a pod too many, those that
// were created first before the others; and given back where their successor does not come, or not get on: a pod that serves is worth more than
// settings. All that it goes by is in the pods: whoever comes after a manager that died goes on.
func settle(view View) Actions {
	handed := handedOver(view.Pods)
	if len(handed) == 0 {
		return Actions{Spare: spared(view)}
	}
	available := 0
	for _, pod := range living(view.Pods) {
		if view.available(pod) {
			available++
		}
	}
	var actions Actions
	var kept []Pod
	for _, pod := range handed {
		switch {
		case view.Replicas == 0 && pod.Revision == view.Revision:
			actions.GiveBack = append(actions.GiveBack, GiveBack{Pod: pod}) // the ReplicaSet deletes it, which no budget holds up
		case !pod.Ready, view.Replicas == 0:
			actions.Evict = append(actions.Evict, pod)
		case available > view.Replicas:
			actions.Evict = append(actions.Evict, pod)
			if view.available(pod) {
				available--
			}
		default:
			kept = append(kept, pod)
		}
	}
	actions.GiveBack = append(actions.GiveBack, givenUp(view, kept)...)
	return actions
}

// spared are pods that are no longer one too many.
func spared(view View) []Pod {
	owned := owned(view.Pods)
	if len(owned) > view.Replicas {
		return nil
	}
	return slices.DeleteFunc(owned, func(pod Pod) bool { return !pod.DropFirst })
}

// givenUp gives pods back whose successors did not come, or not get ready, within the deadline of a step. While any pod is starting, it waits.
func givenUp(view View, handed []Pod) []GiveBack {
	var missing []Pod // a successor that never came has no UID
	unborn := view.Replicas
	for _, pod := range owned(view.Pods) {
		unborn--
		switch {
		case view.available(pod) || pod.Revision != view.Revision:
		case view.Now.Sub(pod.CreatedAt) < ProgressDeadline || view.Now.Sub(pod.ReadyChangedAt) < ProgressDeadline:
			return nil
		default:
			missing = append(missing, pod)
		}
	}
	slices.Reverse(missing) // the youngest are most likely the successors
	if since := view.CreationFailsSince; !since.IsZero() && view.Now.Sub(since) >= ProgressDeadline {
		missing = append(make([]Pod, max(0, unborn)), missing...)
	}
	return paired(view, handed, missing)
}

// paired gives back the pods that are of the current revision, each in the place of one to drop.
func paired(view View, handed, dropped []Pod) []GiveBack {
	var backs []GiveBack
	for _, pod := range handed {
		if pod.Revision == view.Revision && pod.Revision != "" && len(backs) < len(dropped) {
			backs = append(backs, GiveBack{Pod: pod, Drop: dropped[len(backs)]})
		}
	}
	return backs
}

// afterwards is the view as it will be once the actions are carried out.
func afterwards(view View, actions Actions) View {
	view.Pods = slices.Clone(view.Pods)
	for i := range view.Pods {
		pod := &view.Pods[i]
		back := slices.ContainsFunc(actions.GiveBack, func(back GiveBack) bool { return back.Pod.UID == pod.UID })
		dropped := slices.ContainsFunc(actions.GiveBack, func(back GiveBack) bool { return back.Drop.UID == pod.UID })
		pod.Terminating = pod.Terminating || dropped || among(actions.Evict, *pod)
		pod.HandedOver = !back && (pod.HandedOver || among(actions.HandOver, *pod))
	}
	return view
}

func among(pods []Pod, pod Pod) bool { return indexIn(pods, pod) >= 0 }

func indexIn(pods []Pod, pod Pod) int {
	return slices.IndexFunc(pods, func(other Pod) bool { return other.UID == pod.UID })
}

// living are pods that are not going; owned those of them that a ReplicaSet controls, handedOver the others.
func living(pods []Pod) []Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool { return pod.Terminating })
}

func owned(pods []Pod) []Pod {
	return slices.DeleteFunc(living(pods), func(pod Pod) bool { return pod.HandedOver })
}

func handedOver(pods []Pod) []Pod {
	return slices.DeleteFunc(living(pods), func(pod Pod) bool { return !pod.HandedOver })
}

// settle is the look's last word on pods that are handed over, after all else that it does.
func (m *machine) settle() { m.decision.add(settle(afterwards(m.View, m.decision.Actions))) }

// available says that a pod has been ready for as long as the target asks for.
func (v View) available(pod Pod) bool {
	return pod.Ready && v.Now.Sub(pod.ReadyChangedAt) >= v.MinReady
}

// giveBackInstead puts pods with the settings that they should have in the place of those that are wanted gone.
func (m *machine) giveBackInstead(wanted []Pod) {
	good := slices.DeleteFunc(handedOver(m.Pods), func(pod Pod) bool { return !pod.Ready || !runs(pod, m.baselineOf(pod)) })
	bad := slices.DeleteFunc(owned(wanted), func(pod Pod) bool { return pod.Revision != m.Revision })
	slices.SortStableFunc(bad, func(a, b Pod) int {
		switch { // a ReplicaSet goes by the same order
		case b.Ready && !a.Ready:
			return -1
		case a.Ready && !b.Ready:
			return 1
		}
		return b.CreatedAt.Compare(a.CreatedAt)
	})
	m.decision.GiveBack = paired(m.View, good, bad)
}

// harmless are the reasons to go back that say nothing bad of the pods with the candidate.
var harmless = []string{
	v1alpha1.ReasonMeasured, v1alpha1.ReasonRecommended, v1alpha1.ReasonSuperseded, v1alpha1.ReasonSuspended, v1alpha1.ReasonPolicyDeleted,
	v1alpha1.ReasonModeChanged, v1alpha1.ReasonNoGain, v1alpha1.ReasonGainUnproven, v1alpha1.ReasonInconclusive, v1alpha1.ReasonNotProvenHarmless,
	v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonTooFewGCCycles, v1alpha1.ReasonPromotionTimedOut,
}

// replaceInRevert takes pods with the candidate back.
func (m *machine) replaceInRevert(wanted []Pod) {
	m.giveBackInstead(wanted)
	view := afterwards(m.View, m.decision.Actions)
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(pod Pod) bool { return !among(living(view.Pods), pod) })
	room := m.Surge - len(handedOver(m.Pods)) // those that are given back are counted until they are
	if slices.Contains(harmless, m.trial.End.Reason) {
		m.decision.add(replace(view, wanted, min(room, m.Plan.Unavailable(m.Replicas))))
	} else {
		m.decision.add(replaceAtOnce(view, wanted, room))
	}
}
