package prometheus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/gopacer/internal/signal"
)

// shardMemory is for how long it is remembered that the answer to a query was too large.
const shardMemory = 10 * time.Minute

// sharding says how often a query is halved before it is asked.
type sharding struct {
	depth int
	since time.Time
}

// fetch is one snapshot under way.
type fetch struct {
	fleet *fleet
	at    time.Time
	mutex sync.Mutex
	// reader takes all answers, tooLarge the namespaces of which one answer can't be made small enough, halved how often each query had to be.
	reader   *signal.Reader
	tooLarge map[string]error
	halved   map[signal.QueryName]int
}

// run asks all queries of a scope. Only a namespace that is too large on its own fails alone.
func (f *fetch) run(ctx context.Context, scope signal.Scope, depths map[signal.QueryName]int) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, query := range scope.Queries() {
		for _, shard := range split(query, depths[query.Name]) {
			group.Go(func() error { return f.ask(ctx, shard, depths[query.Name]) })
		}
	}
	return group.Wait()
}

// ask halves a query whose answer is too large until it is not.
func (f *fetch) ask(ctx context.Context, query signal.Query, depth int) error {
	if f.gaveUp(query.Namespaces()) {
		return nil
	}
	err := f.fleet.endpoint.ask(ctx, question{query: query.Name, text: query.PromQL, at: f.at, read: func(value model.Value) error {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.reader.Read(query, value)
	}})
	if !tooLarge(err) {
		return err
	}
	one, other, ok := query.Split()
	if !ok {
		f.giveUp(query.Namespaces(), err)
		return nil
	}
	f.mutex.Lock()
	f.halved[query.Name] = max(f.halved[query.Name], depth+1)
	f.mutex.Unlock()
	if err := f.ask(ctx, one, depth+1); err != nil {
		return err
	}
	return f.ask(ctx, other, depth+1)
}

// tooLarge says that an answer is more than gopacer takes, or than Prometheus gives (its flag --query.max-samples).
func tooLarge(err error) bool {
	return errors.Is(err, ErrAnswerTooLarge) || (err != nil && strings.Contains(err.Error(), "query processing would load too many samples"))
}

func (f *fetch) giveUp(namespaces []string, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, namespace := range namespaces {
		f.tooLarge[namespace] = err
	}
}

// gaveUp says that nobody will read the answer.
func (f *fetch) gaveUp(namespaces []string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return !slices.ContainsFunc(namespaces, func(namespace string) bool { return f.tooLarge[namespace] == nil })
}

func split(query signal.Query, depth int) []signal.Query {
	one, other, ok := query.Split()
	if depth == 0 || !ok {
		return []signal.Query{query}
	}
	return append(split(one, depth-1), split(other, depth-1)...)
}
