package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// generateTries is how many names the API server makes up before it gives in (KEP-4420).
const generateTries = 8

// create stores a new object; sent is the caller's to keep.
func (s *Server) create(call *Call) (client.Object, error) {
	if call.Object.GetResourceVersion() != "" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{ // the store says so, and no handler knows the error (etcd3/store.go)
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created",
		}}
	}
	object := clone(call.Object)
	generated := object.GetName() == "" && object.GetGenerateName() != ""
	if object.GetName() == "" && !generated {
		missing := field.Required(field.NewPath("metadata", "name"), "name or generateName is required")
		unnamed := field.Invalid(nil, "", "a resource may not be without a name") // the CRD's schema and the object's metadata are checked apart
		return nil, apierrors.NewInvalid(call.Kind.GroupKind(), "", field.ErrorList{missing, unnamed})
	}
	for range generateTries {
		if generated {
			object.SetName(s.generate(object.GetGenerateName()))
		}
		if s.objects[call.Kind][client.ObjectKeyFromObject(object)] == nil {
			return s.createNamed(call, object)
		}
		if !generated {
			break
		}
	}
	return nil, apierrors.NewAlreadyExists(resourceOf(call.Kind), object.GetName())
}

func (s *Server) createNamed(call *Call, object client.Object) (client.Object, error) {
	if err := checkOwners(call.Kind, object); err != nil {
		return nil, err
	}
	object.SetUID(s.newUID())
	object.SetCreationTimestamp(s.now())
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetManagedFields(nil)
	object.SetGeneration(1)
	if strategyOf(call.Kind).plain {
		object.SetGeneration(0)
	}
	if field := part(object, "Status"); field.IsValid() {
		field.SetZero()
	}
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Status.Phase = corev1.PodPending
		if pod.Spec.TerminationGracePeriodSeconds == nil {
			pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](corev1.DefaultTerminationGracePeriodSeconds)
		}
	}
	s.store(call.Actor, call.Kind, nil, object)
	return object, nil
}

// update replaces an object, or its status alone.
func (s *Server) update(call *Call) (client.Object, error) {
	before, err := s.find(call.Kind, call.Key)
	if err != nil {
		return nil, err
	}
	sent := call.Object
	if uid := sent.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, conflict(call, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, before.GetUID()))
	}
	if sent.GetResourceVersion() == "" && !strategyOf(call.Kind).blind {
		missing := field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")
		return nil, apierrors.NewInvalid(call.Kind.GroupKind(), call.Key.Name, field.ErrorList{missing})
	}
	return s.replace(call, before, clone(sent))
}

// replace checks a new version of an object, and stores what the subresource may change.
func (s *Server) replace(call *Call, before, after client.Object) (client.Object, error) {
	if version := after.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
		return nil, conflict(call, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if call.Subresource == "status" {
		after = withStatusOf(call.Kind, before, after)
	} else {
		keep(after, before, "Status")
	}
	if err := checkMeta(call.Kind, before, after); err != nil {
		return nil, err
	}
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetManagedFields(nil)
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	after.SetGeneration(before.GetGeneration())
	if call.Subresource != "status" && newGeneration(call.Kind, before, after) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if equality.Semantic.DeepEqual(before, after) {
		return before, nil // the API server writes nothing that is the same
	}
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && ptr.Deref(after.GetDeletionGracePeriodSeconds(), 0) == 0 {
		s.remove(call.Actor, call.Kind, before)
		return after, nil
	}
	s.store(call.Actor, call.Kind, before, after)
	return after, nil
}

// withStatusOf takes the status alone; built-in kinds take labels and annotations along.
func withStatusOf(kind schema.GroupVersionKind, before, sent client.Object) client.Object {
	after := clone(before)
	keep(after, sent, "Status")
	if _, builtIn := strategies[kind.Kind]; builtIn {
		after.SetLabels(sent.GetLabels())
		after.SetAnnotations(sent.GetAnnotations())
	}
	return after
}

// checkMeta refuses what no update may change.
func checkMeta(kind schema.GroupVersionKind, before, after client.Object) error {
	var problems field.ErrorList
	path := field.NewPath("metadata")
	if after.GetUID() == "" {
		after.SetUID(before.GetUID())
	}
	if after.GetUID() != before.GetUID() {
		problems = append(problems, field.Invalid(path.Child("uid"), string(after.GetUID()), "field is immutable"))
	}
	if before.GetDeletionTimestamp() != nil {
		// BeforeUpdate and the kind's own strategy both look (k8s.io/apiserver/pkg/registry/rest/update.go), and both answers are told.
		for _, finalizer := range after.GetFinalizers() {
			if !slices.Contains(before.GetFinalizers(), finalizer) {
				late := field.Forbidden(path.Child("finalizers"), "no new finalizers can be added if the object is being deleted, found new finalizers "+finalizer)
				problems = append(problems, late, late)
			}
		}
	}
	if len(problems) > 0 {
		return apierrors.NewInvalid(kind.GroupKind(), before.GetName(), problems)
	}
	return checkOwners(kind, after)
}

// checkOwners: an object has one controller at most.
func checkOwners(kind schema.GroupVersionKind, object client.Object) error {
	controllers := 0
	for _, owner := range object.GetOwnerReferences() {
		if ptr.Deref(owner.Controller, false) {
			controllers++
		}
	}
	if controllers < 2 {
		return nil
	}
	problem := field.Invalid(field.NewPath("metadata", "ownerReferences"), object.GetOwnerReferences(), "Only one reference can have Controller set to true.")
	return apierrors.NewInvalid(kind.GroupKind(), object.GetName(), field.ErrorList{problem})
}

func conflict(call *Call, why error) error {
	return apierrors.NewConflict(resourceOf(call.Kind), call.Key.Name, why)
}

// checkPreconditions of a deletion.
func checkPreconditions(call *Call, object client.Object) error {
	wanted := call.Options.Preconditions
	switch {
	case wanted == nil:
	case wanted.UID != nil && *wanted.UID != object.GetUID():
		return conflict(call, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *wanted.UID, object.GetUID()))
	case wanted.ResourceVersion != nil && *wanted.ResourceVersion != object.GetResourceVersion():
		return conflict(call, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *wanted.ResourceVersion, object.GetResourceVersion()))
	}
	return nil
}

// Finish removes a pod whose containers have ended, as its kubelet does.
func (s *Server) Finish(actor string, uid types.UID, key types.NamespacedName) {
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	if pod := s.objects[kind][key]; pod != nil && pod.GetUID() == uid {
		call := &Call{Actor: actor, Verb: "delete", Kind: kind, Key: key, Options: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}}
		_, _ = s.delete(call) // it was there a moment ago
	}
}
