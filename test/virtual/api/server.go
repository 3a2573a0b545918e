// Package api is an API server in memory, for simulations of thousands of trials: what gopacer and a cluster's controllers use of the real one,
// and no more. TestConformity holds it against a real one. It neither fills in the defaults of a CRD or of built-in kinds, nor validates their
// specs: objects are created complete.
package api

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"time"
)

// Event is one change of one object. Before is nil where it was created, After where it is gone. Both must not be changed.
type Event struct {
	Version       int64
	At            time.Time
	Actor         string
	Kind          schema.GroupVersionKind
	Key           types.NamespacedName
	Before, After client.Object
}

// Server holds the objects. It is not safe for use by several goroutines: a simulation has one.
type Server struct {
	scheme  *runtime.Scheme
	clock   clock.PassiveClock
	random  *rand.Rand
	kinds   map[reflect.Type]schema.GroupVersionKind
	objects map[schema.GroupVersionKind]map[types.NamespacedName]client.Object
	version int64
	uids    int64
	log     []Event
	told    []func(Event)
}

// NewServer is empty. The same random numbers give the same names and UIDs.
func NewServer(scheme *runtime.Scheme, clock clock.PassiveClock, random *rand.Rand) *Server {
	return &Server{
		scheme: scheme, clock: clock, random: random, kinds: map[reflect.Type]schema.GroupVersionKind{},
		objects: map[schema.GroupVersionKind]map[types.NamespacedName]client.Object{},
	}
}

// Tell calls a function after each change, within the request that made it.
func (s *Server) Tell(function func(Event)) { s.told = append(s.told, function) }

// Version is that of the latest change.
func (s *Server) Version() int64 { return s.version }

// Log is every change so far.
func (s *Server) Log() []Event { return s.log }

func (s *Server) kind(object runtime.Object) (schema.GroupVersionKind, error) {
	key := reflect.TypeOf(object)
	if kind, ok := s.kinds[key]; ok {
		return kind, nil
	}
	kinds, _, err := s.scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	s.kinds[key] = kinds[0]
	return kinds[0], nil
}

// resourceOf is the name of a kind in errors.
func resourceOf(kind schema.GroupVersionKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.GroupResource()
}

func (s *Server) find(kind schema.GroupVersionKind, key types.NamespacedName) (client.Object, error) {
	if found := s.objects[kind][key]; found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(resourceOf(kind), key.Name)
}

// sorted are the objects of a kind as etcd lists them.
func sorted(objects map[types.NamespacedName]client.Object) []client.Object {
	all := make([]client.Object, 0, len(objects))
	for _, object := range objects {
		all = append(all, object)
	}
	slices.SortFunc(all, func(a, b client.Object) int {
		if c := strings.Compare(a.GetNamespace(), b.GetNamespace()); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return all
}

// All are the objects of a kind, sorted by name. They must not be changed.
func (s *Server) All(kind schema.GroupVersionKind) []client.Object { return sorted(s.objects[kind]) }

// store puts a new version of an object in the place of the old one.
func (s *Server) store(actor string, kind schema.GroupVersionKind, before, after client.Object) {
	s.version++
	after.SetResourceVersion(strconv.FormatInt(s.version, 10))
	key := client.ObjectKeyFromObject(after)
	if s.objects[kind] == nil {
		s.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	s.objects[kind][key] = after
	s.tell(Event{s.version, s.clock.Now(), actor, kind, key, before, after})
}

func (s *Server) remove(actor string, kind schema.GroupVersionKind, before client.Object) {
	s.version++
	key := client.ObjectKeyFromObject(before)
	delete(s.objects[kind], key)
	s.tell(Event{s.version, s.clock.Now(), actor, kind, key, before, nil})
}

func (s *Server) tell(event Event) {
	s.log = append(s.log, event)
	for _, function := range s.told {
		function(event)
	}
}

// now is as exact as what survives in an object.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.clock.Now().Truncate(time.Second)) }

func (s *Server) newUID() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", s.random.Uint32(), s.uids))
}

// suffixAlphabet and its length are those of generated names (apimachinery, util/rand).
const (
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength   = 5
	longestPrefix  = 63 - suffixLength
)

func (s *Server) generate(prefix string) string {
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[s.random.IntN(len(suffixAlphabet))]
	}
	return prefix[:min(len(prefix), longestPrefix)] + string(suffix)
}

// clone is for whoever will change it.
func clone(object client.Object) client.Object { return object.DeepCopyObject().(client.Object) }

// fill makes an object of the caller's a copy of another of the same type.
func fill(into, from client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(clone(from)).Elem())
}
