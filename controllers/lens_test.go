package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// lens is how the manager sees the API server: with the times of the world's clock, and through a network that the test may cut.
type lens struct {
	world         *world
	born, deleted map[types.UID]time.Time
	// before and after a write, an error may take its place.
	before, after func() error
	// evicting may refuse an eviction.
	evicting func() error
	// stored changes a policy as it is read, to what an older CRD would have let through.
	stored func(*v1alpha1.RuntimeTuningPolicy)
	// written is told of each status that reached the API server.
	written func(*v1alpha1.RuntimeTuningPolicy)
}

func (l *lens) see(uid types.UID) { l.born[uid] = l.world.clock.Now() }

// adjust gives an object the times of the world's clock: the API server goes by its own.
func (l *lens) adjust(object client.Object) {
	if at, ok := l.born[object.GetUID()]; ok {
		object.SetCreationTimestamp(metav1.NewTime(at))
	}
	if at, ok := l.deleted[object.GetUID()]; ok && object.GetDeletionTimestamp() != nil {
		object.SetDeletionTimestamp(&metav1.Time{Time: at})
	}
}

func (l *lens) write(do func() error) error {
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if l.after != nil {
		return l.after()
	}
	return nil
}

func (l *lens) client(server client.WithWatch) client.Client {
	return interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, object, options...)
			l.adjust(object)
			if policy, ok := object.(*v1alpha1.RuntimeTuningPolicy); ok && l.stored != nil {
				l.stored(policy)
			}
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			switch list := list.(type) {
			case *corev1.PodList:
				for i := range list.Items {
					l.adjust(&list.Items[i])
				}
			case *v1alpha1.RuntimeTuningPolicyList:
				for i := range list.Items {
					l.adjust(&list.Items[i])
				}
			}
			return err
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return l.write(func() error { return c.Patch(ctx, object, patch, options...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, object, sub client.Object, options ...client.SubResourceCreateOption) error {
			return l.write(func() error {
				if l.evicting != nil {
					if err := l.evicting(); err != nil {
						return err
					}
				}
				return c.SubResource(name).Create(ctx, object, sub, options...)
			})
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return l.write(func() error {
				if err := c.SubResource(name).Update(ctx, object, options...); err != nil {
					return err
				}
				if policy, ok := object.(*v1alpha1.RuntimeTuningPolicy); ok && l.written != nil {
					l.written(policy.DeepCopy())
				}
				return nil
			})
		},
	})
}
