package api

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// strategy is how the API server treats a kind (k8s.io/kubernetes/pkg/registry, strategy.go of each kind).
type strategy struct {
	// blind says that a write without a resourceVersion is admitted.
	blind bool
	// graceful says that deletion waits for whoever runs the object.
	graceful bool
	// annotated says that a change of annotations makes a new generation as well.
	annotated bool
	// plain says that there are no generations.
	plain bool
}

var strategies = map[string]strategy{
	"Pod":                     {blind: true, graceful: true},
	"Deployment":              {blind: true, annotated: true},
	"ReplicaSet":              {blind: true},
	"StatefulSet":             {blind: true},
	"DaemonSet":               {blind: true},
	"ControllerRevision":      {blind: true, plain: true},
	"HorizontalPodAutoscaler": {blind: true, plain: true},
	"ConfigMap":               {blind: true, plain: true},
	"Namespace":               {blind: true, plain: true},
	"Lease":                   {plain: true},
}

func strategyOf(kind schema.GroupVersionKind) strategy { return strategies[kind.Kind] }

// part is a field of an object, such as Spec; it is not valid where the kind has none.
func part(object client.Object, name string) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName(name)
}

func hasStatus(object client.Object) bool { return part(object, "Status").IsValid() }

// keep gives an object a part of another.
func keep(in, from client.Object, name string) {
	if field := part(in, name); field.IsValid() {
		field.Set(part(from, name))
	}
}

func samePart(a, b client.Object, name string) bool {
	first := part(a, name)
	return !first.IsValid() || equality.Semantic.DeepEqual(first.Interface(), part(b, name).Interface())
}

// newGeneration says that a change is one of what is asked for.
func newGeneration(kind schema.GroupVersionKind, before, after client.Object) bool {
	s := strategyOf(kind)
	return !s.plain && (!samePart(before, after, "Spec") || s.annotated && !equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()))
}
