package api

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Call is one request.
type Call struct {
	Actor string
	// Verb is get, list, create, update, patch or delete; an eviction is a create of the subresource eviction.
	Verb        string
	Kind        schema.GroupVersionKind
	Key         types.NamespacedName
	Subresource string
	// Object is the body of a create and an update.
	Object    client.Object
	Patch     []byte
	PatchType types.PatchType
	// Options of a deletion, or an eviction.
	Options *metav1.DeleteOptions
	// Found is what a get or list answered, Written what a write left. They must not be changed.
	Found   []client.Object
	Written client.Object
}

// IsWrite says that a call may change something.
func (c *Call) IsWrite() bool { return c.Verb != "get" && c.Verb != "list" }

func (c *Call) String() string {
	name := c.Verb + " " + c.Kind.Kind
	if c.Subresource != "" {
		name += "/" + c.Subresource
	}
	return name
}

// Client asks the server in the name of an actor. It implements client.Client.
type Client struct {
	server *Server
	actor  string
	// Through, if set, is gone through by every call: it may delay it, or answer in its place.
	Through func(call *Call, do func() error) error
	// Cache, if set, answers reads.
	Cache *Cache
}

var _ client.Client = (*Client)(nil)

// Client is one for an actor.
func (s *Server) Client(actor string) *Client { return &Client{server: s, actor: actor} }

func (c *Client) through(call *Call, do func() error) error {
	if c.Through == nil {
		return do()
	}
	return c.Through(call, do)
}

func (c *Client) call(verb string, object runtime.Object, key types.NamespacedName) (*Call, error) {
	kind, err := c.server.kind(object)
	return &Call{Actor: c.actor, Verb: verb, Kind: kind, Key: key}, err
}

// Get implements client.Reader.
func (c *Client) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	call, err := c.call("get", into, key)
	if err != nil {
		return err
	}
	return c.through(call, func() error {
		found, err := c.find(call)
		if err != nil {
			return err
		}
		call.Found = []client.Object{found}
		fill(into, found)
		return nil
	})
}

func (c *Client) find(call *Call) (client.Object, error) {
	if c.Cache != nil {
		return c.Cache.find(call.Kind, call.Key)
	}
	return c.server.find(call.Kind, call.Key)
}

// write does a write, and gives the caller's object what came of it.
func (c *Client) write(call *Call, into client.Object, do func(*Call) (client.Object, error)) error {
	return c.through(call, func() error {
		written, err := do(call)
		if err != nil {
			return err
		}
		call.Written = written
		fill(into, written)
		return nil
	})
}

// Create implements client.Writer.
func (c *Client) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return c.send("create", "", object, c.server.create)
}

// Update implements client.Writer.
func (c *Client) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	return c.send("update", "", object, c.server.update)
}

func (c *Client) send(verb, subresource string, object client.Object, do func(*Call) (client.Object, error)) error {
	call, err := c.call(verb, object, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	call.Subresource = subresource
	if call.Object, err = throughJSON(object); err != nil {
		return err
	}
	return c.write(call, object, do)
}

// Patch implements client.Writer.
func (c *Client) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.sendPatch("", object, patch)
}

func (c *Client) sendPatch(subresource string, object client.Object, patch client.Patch) error {
	call, err := c.call("patch", object, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	call.Subresource, call.PatchType = subresource, patch.Type()
	if call.Patch, err = patch.Data(object); err != nil {
		return err
	}
	return c.write(call, object, c.server.patch)
}

// Delete implements client.Writer.
func (c *Client) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	call, err := c.call("delete", object, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	call.Options = (&client.DeleteOptions{}).ApplyOptions(options).AsDeleteOptions()
	return c.through(call, func() error {
		var err error
		call.Written, err = c.server.delete(call)
		return err
	})
}

// DeleteAllOf is none of the virtual server's requests.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}

// Apply is none of the virtual server's requests.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errUnsupported
}

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme { return c.server.scheme }

// RESTMapper implements client.Client; nobody needs it.
func (c *Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor implements client.Client.
func (c *Client) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return c.server.kind(object)
}

// IsObjectNamespaced implements client.Client.
func (c *Client) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return &subresource{client: c, name: name}
}

type subresource struct {
	client *Client
	name   string
}

func (s *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return fmt.Errorf("get %s: %w", s.name, errUnsupported)
}

// Create is an eviction.
func (s *subresource) Create(_ context.Context, object, body client.Object, _ ...client.SubResourceCreateOption) error {
	eviction, ok := body.(*policyv1.Eviction)
	if !ok || s.name != "eviction" {
		return fmt.Errorf("create %s: %w", s.name, errUnsupported)
	}
	call, err := s.client.call("create", object, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	call.Subresource, call.Options = s.name, &metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		call.Options = eviction.DeleteOptions.DeepCopy()
	}
	return s.client.through(call, func() error { return s.client.server.evict(call) })
}

func (s *subresource) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	if s.name != "status" {
		return fmt.Errorf("update %s: %w", s.name, errUnsupported)
	}
	return s.client.send("update", s.name, object, s.client.server.update)
}

func (s *subresource) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	if s.name != "status" {
		return fmt.Errorf("patch %s: %w", s.name, errUnsupported)
	}
	return s.client.sendPatch(s.name, object, patch)
}

func (s *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return fmt.Errorf("apply %s: %w", s.name, errUnsupported)
}
