package api

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache is what an informer has of the server: the objects as they were a while ago, of each kind at its own pace.
type Cache struct {
	server *Server
	// Lag of a kind now; nil for none. What was seen once is not unseen when it grows.
	Lag   func(kind schema.GroupVersionKind) time.Duration
	kinds map[schema.GroupVersionKind]*cached
}

type cached struct {
	read    int // how much of the server's log
	objects map[types.NamespacedName]client.Object
}

// NewCache begins with what the server has, as an informer's first list does.
func (s *Server) NewCache(lag func(schema.GroupVersionKind) time.Duration) *Cache {
	c := &Cache{server: s, Lag: lag, kinds: map[schema.GroupVersionKind]*cached{}}
	for kind, objects := range s.objects {
		known := &cached{read: len(s.log), objects: map[types.NamespacedName]client.Object{}}
		for key, object := range objects {
			known.objects[key] = object
		}
		c.kinds[kind] = known
	}
	return c
}

func (c *Cache) known(kind schema.GroupVersionKind) *cached {
	known := c.kinds[kind]
	if known == nil {
		known = &cached{objects: map[types.NamespacedName]client.Object{}}
		c.kinds[kind] = known
	}
	until := c.server.clock.Now()
	if c.Lag != nil {
		until = until.Add(-c.Lag(kind))
	}
	for ; known.read < len(c.server.log); known.read++ {
		event := &c.server.log[known.read]
		if event.At.After(until) {
			break
		}
		switch {
		case event.Kind != kind:
		case event.After == nil:
			delete(known.objects, event.Key)
		default:
			known.objects[event.Key] = event.After
		}
	}
	return known
}

func (c *Cache) find(kind schema.GroupVersionKind, key types.NamespacedName) (client.Object, error) {
	if found := c.known(kind).objects[key]; found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(resourceOf(kind), key.Name)
}

func (c *Cache) all(kind schema.GroupVersionKind) []client.Object {
	return sorted(c.known(kind).objects)
}
