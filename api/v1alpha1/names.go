package v1alpha1

// Names that gopacer writes on policies and pods.
const (
	// Finalizer keeps a policy until its deletionPolicy is carried out.
	Finalizer = "tuning.gopacer.dev/restore"
	// LabelPolicy names, on a pod, the policy that its settings come from.
	LabelPolicy = "tuning.gopacer.dev/policy"
	// LabelCohort says, on a pod, that it takes part in a trial: as CohortCanary or CohortControl.
	LabelCohort = "tuning.gopacer.dev/cohort"
	// AnnotationSettings holds, on a pod, the canonical form of the settings that gopacer gave it.
	AnnotationSettings = "tuning.gopacer.dev/settings"
	// AnnotationAbort, AnnotationPromote and AnnotationRetry are requests that a person writes on a policy. A request is new where its value is not
	// the one that status.handled echoes.
	AnnotationAbort   = "tuning.gopacer.dev/abort"
	AnnotationPromote = "tuning.gopacer.dev/promote"
	AnnotationRetry   = "tuning.gopacer.dev/retry"
	// AnnotationDeclared tells gopacer's webhook what a pod declared to which the MutatingAdmissionPolicy gave the baseline before: the UID of
	// the pod's owner, the container, and the canonical form. The webhook takes it off; pods that were born without the webhook keep it.
	AnnotationDeclared = "tuning.gopacer.dev/declared"
	// CohortCanary marks pods that run a candidate.
	CohortCanary = "canary"
	// CohortControl marks pods that the canary pods are compared with.
	CohortControl = "control"
)

// Condition types. Ready sums up; the others are present only while True (kstatus).
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

// Reasons of Ready. docs/spec/v1alpha1 has the cure for each.
const (
	// Ready=True: all is well, nothing to do for a person.

	ReasonObserving              = "Observing"              // mode Observe: measured, proposing nothing
	ReasonRecommended            = "Recommended"            // mode Recommend: status.recommendation holds a candidate
	ReasonTuned                  = "Tuned"                  // no candidate promises enough gain
	ReasonCooldown               = "Cooldown"               // a trial ended; the next waits
	ReasonSuspended              = "Suspended"              // spec.suspend
	ReasonFleetStopped           = "FleetStopped"           // trials.stop in the manager's configuration
	ReasonTooManyTrials          = "TooManyTrials"          // trials.perNamespace or trials.perCluster in it
	ReasonOutsideWindow          = "OutsideWindow"          // spec.schedule.windows
	ReasonReplacementBudgetSpent = "ReplacementBudgetSpent" // spec.schedule.replacementsPerWeek
	ReasonAwaitingRollout        = "AwaitingRollout"        // spec.rollout.promotion.as is NextRollout

	// Ready=Unknown, Reconciling=True: under way.

	ReasonTrialRunning      = "TrialRunning"
	ReasonPromoting         = "Promoting"
	ReasonReverting         = "Reverting"
	ReasonRestoring         = "Restoring"         // the policy is being deleted
	ReasonRepairing         = "Repairing"         // the drift sweep replaces pods
	ReasonAwaitingPromotion = "AwaitingPromotion" // spec.rollout.promotion.by is Manual
	ReasonWaitingForTarget  = "WaitingForTarget"  // a rollout or scaling of the target is going on

	ReasonWaitingForStableReplicas = "WaitingForStableReplicas" // their number keeps changing

	// Ready=False: it can't work, for now.

	ReasonDeploysTooFrequent = "DeploysTooFrequent" // three trials in a row were ended by a new revision

	ReasonNoTraffic             = "NoTraffic"
	ReasonPrometheusUnavailable = "PrometheusUnavailable"
	ReasonBaselineBreachesSLO   = "BaselineBreachesSLO"
	ReasonBreakerOpen           = "BreakerOpen"   // far more requests fail than any objective would allow
	ReasonLeakSuspected         = "LeakSuspected" // goroutines, descriptors or the live heap grow at flat traffic
	ReasonCPUThrottled          = "CPUThrottled"  // pauses are long for want of CPU, which no setting cures

	// Ready=False, Stalled=True: a person must change something.

	ReasonTargetNotFound     = "TargetNotFound"
	ReasonPendingUpdate      = "PendingUpdate" // pods of two templates run until a person acts
	ReasonContainerNotFound  = "ContainerNotFound"
	ReasonContainerAmbiguous = "ContainerAmbiguous"
	ReasonProviderNotFound   = "ProviderNotFound"
	ReasonUnmanageableEnv    = "UnmanageableEnv"
	ReasonSignalUnavailable  = "SignalUnavailable"
	ReasonSLOUnmeasured      = "SLOUnmeasured"
	ReasonEvictionBlocked    = "EvictionBlocked" // a PodDisruptionBudget, or several on one pod, refuse an eviction for too long
	ReasonTooFewReplicas     = "TooFewReplicas"
	ReasonTooFewPods         = "TooFewPods" // the pods are too unlike each other for the margins, at this number
	ReasonConflicted         = "Conflicted"
	ReasonInvalidSpec        = "InvalidSpec"
	ReasonResized            = "Resized" // all pods have another memory limit than the template
)

// Reasons for which a trial ends or a verdict is what it is.
const (
	ReasonPromoted                 = "Promoted"
	ReasonPassed                   = "Passed"
	ReasonLatencyBreached          = "LatencyBreached"
	ReasonErrorsBreached           = "ErrorsBreached"
	ReasonSharedBreach             = "SharedBreach"
	ReasonCoarseBuckets            = "CoarseBuckets"
	ReasonOOMKilled                = "OOMKilled"
	ReasonRestarted                = "Restarted"
	ReasonNotReady                 = "NotReady"
	ReasonNoData                   = "NoData"
	ReasonTooFewRequests           = "TooFewRequests"
	ReasonTooFewGCCycles           = "TooFewGCCycles"
	ReasonUnevenTraffic            = "UnevenTraffic"
	ReasonNoGain                   = "NoGain"
	ReasonGainUnproven             = "GainUnproven"
	ReasonNotApplied               = "NotApplied"
	ReasonSuperseded               = "Superseded"
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	ReasonInconclusive             = "Inconclusive"
	ReasonPolicyDeleted            = "PolicyDeleted"
	ReasonNotAdmitted              = "NotAdmitted"
	ReasonModeChanged              = "ModeChanged"
	ReasonCanariesLost             = "CanariesLost"
	ReasonBreakerTripped           = "BreakerTripped"
	ReasonHarmed                   = "Harmed"
	ReasonWorse                    = "Worse"
	ReasonNotProvenHarmless        = "NotProvenHarmless"
	ReasonGuardrailsOnly           = "GuardrailsOnly"
	ReasonNodeImbalance            = "NodeImbalance"
	ReasonLimiterEnabled           = "LimiterEnabled"
	ReasonThrashing                = "Thrashing"
	ReasonMemoryNearLimit          = "MemoryNearLimit"
	ReasonThrottled                = "Throttled"
	ReasonStartsSlowly             = "StartsSlowly"
	ReasonQueryBreached            = "QueryBreached"
	ReasonMeasured                 = "Measured"
	ReasonAborted                  = "Aborted"
	ReasonPromotionTimedOut        = "PromotionTimedOut"
)

// Event reasons.
const (
	EventTrialStarted      = "TrialStarted"
	EventStepStarted       = "StepStarted"
	EventStepPassed        = "StepPassed"
	EventTrialPromoted     = "TrialPromoted"
	EventAwaitingPromotion = "AwaitingPromotion"
	EventTrialReverting    = "TrialReverting"
	EventTrialReverted     = "TrialReverted"
	EventBaselineVoid      = "BaselineVoid"
	EventPodRepaired       = "PodRepaired"
	EventPodBlocked        = "PodBlocked" // an eviction is refused, most often by a PodDisruptionBudget
	EventRequestHandled    = "RequestHandled"
	EventRecordAdopted     = "RecordAdopted"
)
