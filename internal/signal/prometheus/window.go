package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// heldFor is how long snapshots are kept: a verdict's evidence reaches back six hours at most.
	heldFor = 6*time.Hour + 40*time.Minute
	// wholeFor is how long all pods of a namespace are kept, so that a policy that comes next finds its own; startFor is how long a
	// snapshot is kept after a window started at it, since the next window of a trial often starts at the same.
	wholeFor = time.Minute
	startFor = 2 * time.Minute
	// tolerance is the share of a window's length by which its start may lie off, and of their age by which old snapshots lie apart.
	tolerance = 10
	// maxBackfill is how many times within a window are fetched where its start had to be.
	maxBackfill = 8
)

// window gives what is known of a target at the ends of a window and in between. Where only the time did not do for the many questions of a
// first window, it says so: of Prometheus that says nothing.
func (f *fleet) window(ctx context.Context, t target, end time.Time, length time.Duration) ([]signal.Moment, error) {
	f.note(t, end)
	wanted := f.wantedStart(end, length)
	_, begun := f.startHeld(t, wanted, end)
	answered := f.endpoint.answered.Load()
	moments, err := f.moments(ctx, t, end, wanted)
	if !begun && ranOutOfTime(ctx, err) && f.endpoint.answered.Load() > answered {
		return nil, fmt.Errorf("%w: %w", ErrGathering, err)
	}
	return moments, err
}

// ranOutOfTime says that whoever asks stopped waiting, and that no question failed by itself.
func ranOutOfTime(ctx context.Context, err error) bool {
	var unavailable *UnavailableError
	return errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &unavailable)
}

func (f *fleet) moments(ctx context.Context, t target, end, wanted time.Time) ([]signal.Moment, error) {
	last, err := f.at(ctx, t, end, end)
	if err != nil {
		return nil, err
	}
	first, err := f.start(ctx, t, end, wanted)
	if err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	moments := []signal.Moment{first}
	for _, held := range f.sorted() {
		found, ok := f.part(t, held.at)
		if ok && found.err == nil && held.at.After(first.At) && held.at.Before(end) {
			moments = append(moments, signal.Moment{At: held.at, Part: found.pods})
		}
	}
	return append(moments, signal.Moment{At: end, Part: last}), nil
}

func (f *fleet) wantedStart(end time.Time, length time.Duration) time.Time {
	wanted := roundUp(end.Add(-length), f.slot)
	if latest := end.Add(-f.slot); wanted.After(latest) {
		return latest
	}
	return wanted
}

// start is where the window starts: a snapshot that is held, or one that Prometheus is asked for, once, after a restart of the manager
// or a silence of Prometheus. Then some in between are asked for as well.
func (f *fleet) start(ctx context.Context, t target, end, wanted time.Time) (signal.Moment, error) {
	if held, ok := f.startHeld(t, wanted, end); ok {
		return held, nil
	}
	start, others := f.backfill(wanted, end)
	first := signal.Moment{At: start}
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		first.Part, err = f.at(groupContext, t, start, end)
		return err
	})
	for _, at := range f.unknown(t, others, end) {
		group.Go(func() error {
			_, err := f.at(groupContext, t, at, end)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return signal.Moment{}, err
	}
	f.use(start, end)
	return first, nil
}

// startHeld finds a snapshot to start at: the first after the time that is wanted, if it is near enough, else one just before.
func (f *fleet) startHeld(t target, wanted, end time.Time) (signal.Moment, bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	near := max(end.Sub(wanted)/tolerance, f.slot)
	var found signal.Moment
	for _, held := range f.sorted() {
		known, ok := f.part(t, held.at)
		if !ok || known.err != nil || !held.at.Before(end) || held.at.After(wanted.Add(near)) || wanted.Sub(held.at) > f.slot {
			continue
		}
		found = signal.Moment{At: held.at, Part: known.pods}
		if !held.at.Before(wanted) {
			break
		}
	}
	if found.At.IsZero() {
		return found, false
	}
	f.held[found.At.Unix()].used = end
	return found, true
}

func (f *fleet) use(at, end time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if held, ok := f.held[at.Unix()]; ok {
		held.used = end
	}
}

// backfill chooses the times to ask for. They lie on grids that do not move with the window's end, so that other policies, and the
// next look, want the same.
func (f *fleet) backfill(wanted, end time.Time) (start time.Time, others []time.Time) {
	length := end.Sub(wanted)
	start = roundUp(wanted, f.gridBelow(length/tolerance))
	apart := max(length/(maxBackfill+1), f.endpoint.scrapeInterval)
	apart = (apart + f.slot - 1).Truncate(f.slot)
	for at := start.Truncate(apart).Add(apart); at.Before(end) && len(others) < maxBackfill; at = at.Add(apart) {
		others = append(others, at)
	}
	return start, others
}

// gridBelow is the coarsest grid that is not wider.
func (f *fleet) gridBelow(width time.Duration) time.Duration {
	grid := f.slot
	for _, wider := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute} {
		if wider <= width {
			grid = wider
		}
	}
	return grid
}

func roundUp(at time.Time, grid time.Duration) time.Time {
	if down := at.Truncate(grid); down.Before(at) {
		return down.Add(grid)
	}
	return at
}

// unknown leaves out the times near which something is held.
func (f *fleet) unknown(t target, times []time.Time, end time.Time) []time.Time {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var apart time.Duration
	if len(times) > 1 {
		apart = times[1].Sub(times[0])
	}
	return slices.DeleteFunc(times, func(at time.Time) bool {
		for _, held := range f.held {
			if _, ok := f.part(t, held.at); ok && held.at.Before(end) && held.at.Sub(at).Abs() < apart/2 {
				return true
			}
		}
		return false
	})
}

func (f *fleet) sorted() []*snapshot {
	return slices.SortedFunc(maps.Values(f.held), func(a, b *snapshot) int { return a.at.Compare(b.at) })
}

// trim leaves of older snapshots the pods of targets that were asked for.
func (f *fleet) trim() {
	prefixes := make(map[string][]string)
	for t := range f.asked {
		prefixes[t.namespace] = append(prefixes[t.namespace], t.prefix)
	}
	for _, held := range f.held {
		if f.newest.Sub(held.keptAt) <= wholeFor {
			continue
		}
		for namespace, whole := range held.parts {
			switch {
			case whole.prefixes != nil:
			case prefixes[namespace] == nil:
				delete(held.parts, namespace)
			default:
				whole.prefixes = prefixes[namespace]
				whole.pods = whole.pods.Keep(whole.prefixes)
				held.parts[namespace] = whole
			}
		}
	}
}

// thin lets snapshots lie further apart the older they are: a window of any length then finds one within a tenth of it.
func (f *fleet) thin() {
	all := f.sorted()
	for len(all) > 0 && f.newest.Sub(all[0].at) > heldFor {
		delete(f.held, all[0].at.Unix())
		all = all[1:]
	}
	var before *snapshot
	for i, held := range all {
		spare := before != nil && i+1 < len(all) && f.newest.Sub(held.used) > startFor &&
			all[i+1].at.Sub(before.at) <= f.newest.Sub(held.at)/tolerance
		if spare {
			delete(f.held, held.at.Unix())
			continue
		}
		before = held
	}
}

func compareLatency(a, b signal.Latency) int {
	return cmp.Or(cmp.Compare(a.Histogram, b.Histogram), cmp.Compare(a.CodeLabel, b.CodeLabel))
}
