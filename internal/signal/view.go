package signal

import (
	"slices"
	"time"
)

// view is what the containers that count for a request exposed of one pod at one time.
type view struct {
	at time.Time
	// all are the samples of every container of the pod, own those that count as the application's.
	all, own []*sample
}

// view selects the samples of the tuned container, and those of no container at all, since many scrape configurations set none.
// What another container exposes, a sidecar, does not count.
func (r Request) view(moment Moment, pod string) view {
	v := view{at: moment.At, all: moment.Part.pods[pod]}
	for _, sample := range v.all {
		if r.Container == "" || sample.container == "" || sample.container == r.Container {
			v.own = append(v.own, sample)
		}
	}
	return v
}

// endpoints are how many claim to be the pod's process: one, as a rule.
func (v view) endpoints() int {
	count := 0
	for _, sample := range v.own {
		count += sample.endpoints
	}
	return count
}

// sampledAt is when the pod was last scraped, in Unix seconds; 0 where it was not.
func (v view) sampledAt() float64 {
	latest := 0.0
	for _, sample := range v.own {
		latest = max(latest, sample.sampledAt)
	}
	return latest
}

// age of the newest sample; false where there is none, or it is of the future.
func (v view) age() (time.Duration, bool) {
	if v.endpoints() == 0 || v.sampledAt() == 0 {
		return 0, false
	}
	age := float64(v.at.UnixMilli())/1000 - v.sampledAt()
	return time.Duration(max(age, 0) * float64(time.Second)), age >= -1
}

func (v view) scalar(index scalar) Value {
	var found Value
	for _, sample := range v.own {
		value := sample.scalars.get(index)
		switch {
		case value.State == Absent:
		case found.State != Absent:
			return Value{State: Ambiguous}
		default:
			found = value
		}
	}
	return found
}

// goVersion is empty where two claim different ones.
func (v view) goVersion() string {
	found := ""
	for _, sample := range v.own {
		switch {
		case sample.goVersion == "" || sample.goVersion == found:
		case found != "":
			return ""
		default:
			found = sample.goVersion
		}
	}
	return found
}

// counting are the samples that may hold a preset's requests: those of a sidecar too, where it is the sidecar that counts them.
func (v view) counting(p preset) []*sample {
	counting := slices.Clone(v.own)
	for _, sample := range v.all {
		if p.sidecar != "" && sample.container == p.sidecar && !slices.Contains(counting, sample) {
			counting = append(counting, sample)
		}
	}
	return counting
}

// series are those of a metric. Only of one scraped endpoint they are Present, even if each is a number of its own.
func (v view) series(p preset, metric string) ([]series, State) {
	var found []series
	var endpoint source
	var owner *sample
	for _, sample := range v.counting(p) {
		for _, one := range sample.series {
			source := one.source.Value()
			if source.metric != metric || (p.reporter != "" && source.reporter != p.reporter) {
				continue
			}
			if owner != nil && (owner != sample || source.job != endpoint.job || source.instance != endpoint.instance) {
				return nil, Ambiguous
			}
			owner, endpoint = sample, source
			found = append(found, one)
		}
	}
	if owner == nil {
		return nil, Absent
	}
	return found, Present
}

// buckets are the classic histogram of a metric, without _bucket in its name. Two endpoints with one are Ambiguous.
func (v view) buckets(p preset, metric string) histogram {
	var found histogram
	for _, sample := range v.counting(p) {
		for _, one := range sample.buckets {
			source := one.source.Value()
			if source.metric != metric+suffixBucket || (p.reporter != "" && source.reporter != p.reporter) {
				continue
			}
			if found.state != Absent {
				return histogram{state: Ambiguous}
			}
			found = one.histogram
		}
	}
	return found
}

// histogram is the classic one, or else the sum of the native ones by status.
func (v view) histogram(p preset, metric string) histogram {
	if found := v.buckets(p, metric); found.state != Absent {
		return found
	}
	natives, state := v.series(p, metric)
	if state != Present {
		return histogram{state: state}
	}
	all := make([]histogram, 0, len(natives))
	for _, one := range natives {
		if one.native == nil {
			return histogram{state: Ambiguous}
		}
		all = append(all, one.native.histogram)
	}
	return sumHistograms(all)
}

// exposed says that the application exposes anything.
func (v view) exposed() bool {
	return slices.ContainsFunc(v.own, func(s *sample) bool { return s.exposed })
}

// hasHistogram says that a pod has a histogram by that name, hasCount that it has at least the number of its requests.
func (v view) hasHistogram(p preset, histogram string) bool {
	if v.buckets(p, histogram).state != Absent {
		return true
	}
	_, state := v.series(p, histogram)
	return state != Absent
}

func (v view) hasCount(p preset, histogram string) bool {
	for _, metric := range []string{p.counter, histogram + suffixCount} {
		if _, state := v.series(p, metric); metric != "" && state != Absent {
			return true
		}
	}
	return false
}

// hasCode says that some request has a label with its status.
func (v view) hasCode(p preset, label string) bool {
	for _, sample := range v.counting(p) {
		for _, one := range sample.series {
			if one.source.Value().code([]string{label}) != "" {
				return true
			}
		}
	}
	return false
}
