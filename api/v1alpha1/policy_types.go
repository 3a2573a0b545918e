package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mode says how far gopacer may go; trust grows step by step.
// +kubebuilder:validation:Enum=Observe;Recommend;Auto
type Mode string

const (
	// ModeObserve measures and reports whether the policy could work; it proposes nothing.
	ModeObserve Mode = "Observe"
	// ModeRecommend also writes the candidate it would try into status.recommendation; it touches no pod.
	ModeRecommend Mode = "Recommend"
	// ModeAuto runs trials: canary, judge, promote or revert.
	ModeAuto Mode = "Auto"
)

// Suspend says whether, and how, a policy is paused.
// +kubebuilder:validation:Enum=None;Hold;Revert
type Suspend string

const (
	// SuspendNone lets the policy work.
	SuspendNone Suspend = "None"
	// SuspendHold starts no trial and lets a running one go no further; its guards still revert it.
	SuspendHold Suspend = "Hold"
	// SuspendRevert starts no trial and reverts a running one.
	SuspendRevert Suspend = "Revert"
)

// DeletionPolicy says what a policy's pods run once the policy is deleted.
// +kubebuilder:validation:Enum=Restore;Keep
type DeletionPolicy string

const (
	// DeletionRestore replaces pods that gopacer changed, so that all run what their template declares, before the policy goes.
	DeletionRestore DeletionPolicy = "Restore"
	// DeletionKeep leaves running pods with a promoted setting as they are; canaries are replaced. New pods get what the template declares.
	DeletionKeep DeletionPolicy = "Keep"
)

// Percent is a share between 0% and 100%, for example 5% or 0.05%.
// +kubebuilder:validation:Pattern=`^(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%$`
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=9
type Percent string

// TargetReference names the workload whose pods are tuned, in the policy's own namespace.
// +kubebuilder:validation:XValidation:rule="!(self.kind in ['Pod', 'Job', 'CronJob'])",message="nothing takes the place of a Pod of its own, and Jobs and CronJobs end: name a workload that keeps its pods running"
// +kubebuilder:validation:XValidation:rule="self.kind in ['Pod', 'Job', 'CronJob'] || self.apiVersion.contains('.') || (self.apiVersion == 'apps/v1' && self.kind in ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet'])",message="Deployment, StatefulSet, DaemonSet and ReplicaSet are of apiVersion apps/v1, and any other kind of an API group with a dot, such as argoproj.io/v1alpha1"
// +kubebuilder:validation:XValidation:rule="!self.apiVersion.startsWith('argoproj.io/') || (self.apiVersion == 'argoproj.io/v1alpha1' && self.kind == 'Rollout')",message="of Argo's kinds only Rollout of argoproj.io/v1alpha1 keeps pods running"
type TargetReference struct {
	// apiVersion of the target.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$`
	APIVersion string `json:"apiVersion"`
	// kind of the target.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// name of the target.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// LatencySLO asks that a share of the requests is answered within a threshold.
type LatencySLO struct {
	// threshold is the longest time a good request takes, for example 250ms. It is exact at an edge of the latency histogram's buckets.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="threshold must be above 0s"
	Threshold metav1.Duration `json:"threshold"`
	// target is the share of requests that must be good, for example 99%.
	// +required
	// +kubebuilder:validation:XValidation:rule="double(self.substring(0, size(self) - 1)) < 100.0",message="target must be below 100%: no finite number of requests proves that none is ever slow"
	// +kubebuilder:validation:XValidation:rule="double(self.substring(0, size(self) - 1)) > 0.0",message="target must be above 0%"
	Target Percent `json:"target"`
}

// ErrorsSLO bounds the share of failed requests.
type ErrorsSLO struct {
	// max is the largest share of requests that may fail, for example 1%.
	// +required
	Max Percent `json:"max"`
}

// QuerySLO bounds what a query of one's own says of each pod.
type QuerySLO struct {
	// promQL is a query that answers with one number for each pod, by the label pod. Every selector in it is held to the policy's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	PromQL string `json:"promQL"`
	// max is the largest mean over the canary pods, a decimal number such as 250 or 0.5.
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^-?[0-9]{1,12}(\.[0-9]{1,6})?$`
	Max string `json:"max"`
}

// SLO is one service-level objective that must hold, for the canary pods as for all others.
// +kubebuilder:validation:XValidation:rule="[has(self.latency), has(self.errors), has(self.query)].filter(x, x).size() == 1",message="set exactly one of latency, errors and query"
type SLO struct {
	// name of the objective, unique in the policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// latency bounds slow requests.
	// +optional
	Latency *LatencySLO `json:"latency,omitempty"`
	// errors bounds failed requests.
	// +optional
	Errors *ErrorsSLO `json:"errors,omitempty"`
	// query bounds what a query of one's own says.
	// +optional
	Query *QuerySLO `json:"query,omitempty"`
}

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// MaintenanceWindow is a time in which trials may replace pods.
type MaintenanceWindow struct {
	// timeZone by whose clocks it opens: a name of the IANA time zone database, such as Europe/Berlin.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9+_-]+(/[A-Za-z0-9+_-]+)*$`
	// +kubebuilder:validation:XValidation:rule="self != 'Local'",message="timeZone Local is that of the manager's machine: name one, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
	// days on which it opens; every day where it is left out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`
	// start is the time of day at which it opens, such as 22:00. A time that the clocks skip is as much later as they skip; one that they show
	// twice is the first.
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	Start string `json:"start"`
	// duration for which it is open, in elapsed time, whatever is done to the clocks.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(h|m|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('15m') && duration(self) <= duration('24h')",message="duration must lie between 15m and 24h"
	Duration metav1.Duration `json:"duration"`
}

// Schedule says when trials may start.
type Schedule struct {
	// cooldown is the time between the end of a trial and the start of the next.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('720h')",message="cooldown must not exceed 720h"
	Cooldown *metav1.Duration `json:"cooldown,omitempty"`
	// windows are the times in which trials start, go on to their next step, and replace pods. A trial that runs when they close is held, with its
	// guards on. A revert waits for none. Without any, it is always time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Windows []MaintenanceWindow `json:"windows,omitempty"`
	// replacementsPerWeek is how many pods of the target may be replaced in a week for a trial to start: it starts where what it takes in all
	// still fits. What runs already, and a revert, wait for no budget. Left out, there is none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	ReplacementsPerWeek int32 `json:"replacementsPerWeek,omitempty"`
}

// RuntimeTuningPolicySpec is what a platform team asks for.
// +kubebuilder:validation:XValidation:rule="!has(self.strategy.manual) || self.strategy.manual.candidates.all(c, !has(c.gogc) || ((!has(self.knobs.gogc.min) || type(c.gogc) != int || c.gogc >= self.knobs.gogc.min) && (!has(self.knobs.gogc.max) || (type(c.gogc) == int && c.gogc <= self.knobs.gogc.max))))",message="a candidate's gogc must keep knobs.gogc.min and max; off is above any max"
// +kubebuilder:validation:XValidation:rule="!has(self.strategy.sweep) || self.strategy.sweep.ladder.all(g, (!has(self.knobs.gogc.min) || g >= self.knobs.gogc.min) && (!has(self.knobs.gogc.max) || g <= self.knobs.gogc.max))",message="the rungs of a ladder must keep knobs.gogc.min and max; left out, the ladder is 25, 50, 100, 150, 200"
// +kubebuilder:validation:XValidation:rule="self.strategy.type != 'Feedback' || ((!has(self.knobs.gogc.min) || has(self.knobs.gogc.max) || self.knobs.gogc.min <= 200) && (!has(self.knobs.gogc.max) || has(self.knobs.gogc.min) || self.knobs.gogc.max >= 25))",message="knobs.gogc: left out, min is 25 and max is 200 with Feedback; give both where one lies beyond the other"
type RuntimeTuningPolicySpec struct {
	// targetRef names the workload to tune. It can't be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetRef is immutable: delete this policy and create another"
	TargetRef TargetReference `json:"targetRef,omitzero"`
	// container to tune; may be left out where the pods have only one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Container string `json:"container,omitempty"`
	// mode says how far gopacer may go.
	// +optional
	// +kubebuilder:default=Observe
	Mode Mode `json:"mode,omitempty"`
	// suspend pauses the policy.
	// +optional
	// +kubebuilder:default=None
	Suspend Suspend `json:"suspend,omitempty"`
	// slos are the objectives that must hold. Without one only the built-in guardrails protect the target.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	SLOs []SLO `json:"slos,omitempty"`
	// knobs bounds the settings.
	// +optional
	// +kubebuilder:default={}
	Knobs Knobs `json:"knobs,omitempty,omitzero"`
	// objective is what a candidate must improve.
	// +optional
	// +kubebuilder:default={}
	Objective Objective `json:"objective,omitempty,omitzero"`
	// strategy chooses candidates.
	// +optional
	// +kubebuilder:default={}
	Strategy Strategy `json:"strategy,omitempty,omitzero"`
	// analysis says how a trial is judged.
	// +optional
	// +kubebuilder:default={}
	Analysis Analysis `json:"analysis,omitempty,omitzero"`
	// rollout says how a candidate reaches pods.
	// +optional
	// +kubebuilder:default={}
	Rollout Rollout `json:"rollout,omitempty,omitzero"`
	// approved are the settings of status.recommendation, copied by a person who wants them promoted: where there are too few pods for a
	// proof, gopacer promotes nothing by itself. They count only while the recommendation says the same.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.gogc) || has(self.gomemlimit) || has(self.gomaxprocs) || has(self.godebug)",message="approved holds the settings of status.recommendation, and sets at least one of gogc, gomemlimit, gomaxprocs and godebug"
	// +kubebuilder:validation:XValidation:rule="!has(self.gogc) || (type(self.gogc) == int ? self.gogc >= 1 && self.gogc <= 2147483647 : self.gogc == 'off')",message="gogc is a whole number from 1 to 2147483647 without quotes, or \"off\" with them"
	// +kubebuilder:validation:XValidation:rule="!has(self.gomemlimit) || quantity(string(self.gomemlimit)).isGreaterThan(quantity('0'))",message="gomemlimit must be above 0"
	Approved *RuntimeSettings `json:"approved,omitempty"`
	// schedule says when trials may start.
	// +optional
	// +kubebuilder:default={}
	Schedule Schedule `json:"schedule,omitempty,omitzero"`
	// metrics says where measurements come from.
	// +optional
	// +kubebuilder:default={}
	Metrics Metrics `json:"metrics,omitempty,omitzero"`
	// deletionPolicy says what the pods run once the policy is deleted.
	// +optional
	// +kubebuilder:default=Restore
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}
