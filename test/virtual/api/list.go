package api

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// List implements client.Reader.
func (c *Client) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	wanted := (&client.ListOptions{}).ApplyOptions(options)
	call, err := c.call("list", into, types.NamespacedName{Namespace: wanted.Namespace})
	if err != nil {
		return err
	}
	call.Kind.Kind = strings.TrimSuffix(call.Kind.Kind, "List")
	return c.through(call, func() error {
		for _, object := range c.all(call.Kind) {
			matches, err := selects(wanted, object)
			if err != nil {
				return fmt.Errorf("list %s: %w", call.Kind.Kind, err)
			}
			if matches {
				call.Found = append(call.Found, object)
			}
		}
		fillList(into, call.Found)
		return nil
	})
}

func (c *Client) all(kind schema.GroupVersionKind) []client.Object {
	if c.Cache != nil {
		return c.Cache.all(kind)
	}
	return c.server.All(kind)
}

func selects(wanted *client.ListOptions, object client.Object) (bool, error) {
	if wanted.Namespace != "" && wanted.Namespace != object.GetNamespace() {
		return false, nil
	}
	if wanted.LabelSelector != nil && !wanted.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false, nil
	}
	if wanted.FieldSelector == nil {
		return true, nil
	}
	for _, requirement := range wanted.FieldSelector.Requirements() {
		value, ok := fieldOf(object, requirement.Field)
		if !ok {
			return false, fmt.Errorf("by field %s: %w", requirement.Field, errUnsupported)
		}
		if !fields.OneTermEqualSelector(requirement.Field, requirement.Value).Matches(fields.Set{requirement.Field: value}) {
			return false, nil
		}
	}
	return true, nil
}

// fieldOf is the value of a field that objects are selected by.
func fieldOf(object client.Object, name string) (string, bool) {
	switch name {
	case "metadata.name":
		return object.GetName(), true
	case "metadata.namespace":
		return object.GetNamespace(), true
	}
	switch object := object.(type) {
	case *corev1.Pod:
		return object.Spec.NodeName, name == "spec.nodeName"
	case *v1alpha1.RuntimeTuningPolicy:
		return object.Spec.TargetRef.Name, name == "spec.targetRef.name"
	}
	return "", false
}

func fillList(into client.ObjectList, found []client.Object) {
	items := reflect.ValueOf(into).Elem().FieldByName("Items")
	items.Set(reflect.MakeSlice(items.Type(), len(found), len(found)))
	for i, object := range found {
		items.Index(i).Set(reflect.ValueOf(clone(object)).Elem())
	}
}
