package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patch applies a merge patch or a JSON patch to an object, or to its status.
func (s *Server) patch(call *Call) (client.Object, error) {
	before, err := s.find(call.Kind, call.Key)
	if err != nil {
		return nil, err
	}
	from, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	to, err := apply(call, from)
	if err != nil {
		return nil, err
	}
	after := reflect.New(reflect.TypeOf(before).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(to, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.replace(call, before, after)
}

func apply(call *Call, from []byte) ([]byte, error) {
	if call.PatchType == types.MergePatchType {
		to, err := jsonpatch.MergePatch(from, call.Patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return to, nil
	}
	operations, err := jsonpatch.DecodePatch(call.Patch)
	if err != nil || call.PatchType != types.JSONPatchType {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("a patch of type %s: %v", call.PatchType, err))
	}
	to, err := operations.Apply(from)
	if err != nil { // a test that fails, or a path that is not there
		refused := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", metav1.SchemeGroupVersion.WithResource("").GroupResource(), "", err.Error(), 0, false)
		refused.ErrStatus.Message = err.Error()
		return nil, refused
	}
	return to, nil
}

// throughJSON is what becomes of an object on its way to the API server.
func throughJSON(object client.Object) (client.Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	sent := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	return sent, json.Unmarshal(text, sent)
}

var errUnsupported = errors.New("the virtual API server does not know this request")
