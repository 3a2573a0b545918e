package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// side is one of the two servers, and what the script remembers of it.
type side struct {
	client.Client
	ctx  context.Context
	kept map[string]client.Object
	uids map[types.UID]string
}

// said is what a server answered to one step, and what it then has.
type said struct {
	Step    string
	Failed  *failure
	Objects []seen
}

// failure is what the product looks at of an error.
type failure struct {
	Reason metav1.StatusReason
	Code   int32
	// Causes by type and field.
	Causes []string
	// UID says that the message speaks of the UID, by which the product knows that another pod has the name.
	UID bool
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return &failure{Reason: metav1.StatusReason(err.Error())}
	}
	failed := &failure{Reason: status.Status().Reason, Code: status.Status().Code, UID: strings.Contains(err.Error(), "UID")}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			failed.Causes = append(failed.Causes, fmt.Sprintf("%s %s", cause.Type, cause.Field))
			if cause.Type == policyv1.DisruptionBudgetCause {
				failed.Causes = append(failed.Causes, cause.Message)
			}
		}
		slices.Sort(failed.Causes)
	}
	return failed
}

// seen is an object without what no two servers have in common, and without what a server fills in for built-in kinds.
type seen struct {
	Kind, Name          string
	Labels, Annotations map[string]string
	Finalizers, Owners  []string
	Generation          int64
	Deleting            bool
	Grace               int64
	Content             string
}

func (s *side) look(object client.Object, kind string) seen {
	s.uids[object.GetUID()] = object.GetName()
	found := seen{
		Kind: kind, Name: object.GetName(), Labels: object.GetLabels(), Annotations: object.GetAnnotations(), Finalizers: slices.Clone(object.GetFinalizers()),
		Generation: object.GetGeneration(), Deleting: object.GetDeletionTimestamp() != nil, Content: content(object),
	}
	if prefix := object.GetGenerateName(); prefix != "" && strings.HasPrefix(found.Name, prefix) {
		found.Name = fmt.Sprintf("%s[%d]", prefix, len(found.Name)-len(prefix))
	}
	if grace := object.GetDeletionGracePeriodSeconds(); grace != nil {
		found.Grace = *grace
	}
	slices.Sort(found.Finalizers)
	for _, owner := range object.GetOwnerReferences() {
		found.Owners = append(found.Owners, fmt.Sprintf("%s %s", owner.Kind, owner.Name))
	}
	return found
}

// content is what the script changes beside the metadata.
func content(object client.Object) string {
	var value any
	switch object := object.(type) {
	case *corev1.Pod:
		conditions := []string{}
		for _, condition := range object.Status.Conditions {
			conditions = append(conditions, string(condition.Type)+string(condition.Status)+condition.Reason)
		}
		value = []any{object.Spec.NodeName, object.Spec.Containers[0].Env, object.Spec.Containers[0].Image, object.Status.Phase, conditions}
	case *appsv1.Deployment:
		value = []any{object.Spec.Replicas, object.Spec.Paused, object.Status}
	case *appsv1.ReplicaSet:
		value = []any{object.Spec.Replicas, object.Status}
	case *policyv1.PodDisruptionBudget:
		disrupted := []string{}
		for name := range object.Status.DisruptedPods {
			disrupted = append(disrupted, name)
		}
		value = []any{object.Spec.MinAvailable, object.Status.DisruptionsAllowed, object.Status.CurrentHealthy, object.Status.ObservedGeneration, disrupted}
	case *v1alpha1.RuntimeTuningPolicy:
		value = []any{object.Spec, object.Status}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *side) everything() ([]seen, error) {
	var all []seen
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{}, &v1alpha1.RuntimeTuningPolicyList{},
	} {
		if err := s.List(s.ctx, list, client.InNamespace(conformityNamespace)); err != nil {
			return nil, err
		}
		items, err := itemsOf(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			all = append(all, s.look(item, strings.TrimPrefix(fmt.Sprintf("%T", item), "*")))
		}
	}
	slices.SortFunc(all, func(a, b seen) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}

func itemsOf(list client.ObjectList) ([]client.Object, error) {
	var items []client.Object
	switch list := list.(type) {
	case *appsv1.DeploymentList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	case *appsv1.ReplicaSetList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	case *corev1.PodList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	case *policyv1.PodDisruptionBudgetList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	case *v1alpha1.RuntimeTuningPolicyList:
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	default:
		return nil, fmt.Errorf("a list of %T", list)
	}
	return items, nil
}

const conformityNamespace = "default"

// play runs the script on a server.
func play(ctx context.Context, c client.Client) ([]said, error) {
	s := &side{Client: c, ctx: ctx, kept: map[string]client.Object{}, uids: map[types.UID]string{}}
	var answers []said
	for _, step := range script {
		answer := said{Step: step.name, Failed: failureOf(step.do(s))}
		var err error
		if answer.Objects, err = s.everything(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// impatient takes a refusal for an answer: where the API server says when to ask again, the client would wait and ask, ten times over.
type impatient struct{ http.RoundTripper }

func (i impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := i.RoundTripper.RoundTrip(request)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// TestConformity runs one script of requests on a real API server and on the virtual one: objects, conflicts and errors are the same.
func TestConformity(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("this test needs an API server, and KUBEBUILDER_ASSETS is not set: run make test, which builds one")
	}
	if len(script) < 40 {
		t.Errorf("the script has only %d steps", len(script))
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
	real, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	want, err := play(t.Context(), real)
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	got, err := play(t.Context(), NewServer(newScheme(), clock, rand.New(rand.NewPCG(1, 2))).Client("script"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if diff := gocmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%s (-real +virtual):\n%s", want[i].Step, diff)
		}
	}
}
