// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"kube-granular.dev/api/authority/v1alpha1"
)

// FieldChange is a change of a specification. Before is nil if the object was created, and After if it
// was removed.
type FieldChange struct{ Before, After *v1alpha1.FieldPermission }

// fieldREST is the storage of FieldPermissions. It tells once for each request what it has changed. The
// hooks of a store can't tell that: they are called for each try, before the object is stored.
type fieldREST struct {
	resourceREST
	changed func(ctx context.Context, changes []FieldChange, dryRun bool)
}

var _ rest.StandardStorage = fieldREST{}

// Create implements rest.Creater.
func (r fieldREST) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	var noted fieldChanges
	out, err := r.Store.Create(ctx, obj, noted.creation(validate), options)
	r.tell(ctx, &noted, options.DryRun, err)
	return out, err
}

// Update implements rest.Updater.
func (r fieldREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	force bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	var noted fieldChanges
	out, created, err := r.Store.Update(ctx, name, info, noted.creation(create), noted.update(update), force, options)
	r.tell(ctx, &noted, options.DryRun, err)
	return out, created, err
}

// Delete implements rest.GracefulDeleter.
func (r fieldREST) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	var noted fieldChanges
	out, now, err := r.Store.Delete(ctx, name, noted.removal(validate), options)
	r.tell(ctx, &noted, options.DryRun, err)
	return out, now, err
}

// DeleteCollection implements rest.CollectionDeleter.
func (r fieldREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions,
) (runtime.Object, error) {
	var noted fieldChanges
	out, err := r.Store.DeleteCollection(ctx, noted.removal(validate), options, list)
	r.tell(ctx, &noted, options.DryRun, err)
	return out, err
}

func (r fieldREST) tell(ctx context.Context, noted *fieldChanges, dryRun []string, err error) {
	if changes := noted.sorted(); err == nil && len(changes) > 0 {
		r.changed(ctx, changes, dryrun.IsDryRun(dryRun))
	}
}

// fieldChanges are the changes that one request makes, by the names of the objects. A later try replaces
// what an earlier try has noted.
type fieldChanges struct {
	lock sync.Mutex
	all  map[string]FieldChange
}

func (c *fieldChanges) note(name string, change FieldChange) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.all == nil {
		c.all = map[string]FieldChange{}
	}
	c.all[name] = change
}

// creation returns a validation that validates with the given one, and then notes a creation. removal
// and update do the same for the other changes.
func (c *fieldChanges) creation(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		return c.validated(ctx, obj, validate, func(p *v1alpha1.FieldPermission) FieldChange { return FieldChange{After: p} })
	}
}

func (c *fieldChanges) removal(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		return c.validated(ctx, obj, validate, func(p *v1alpha1.FieldPermission) FieldChange { return FieldChange{Before: p} })
	}
}

func (c *fieldChanges) validated(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, change func(*v1alpha1.FieldPermission) FieldChange,
) error {
	if validate != nil {
		if err := validate(ctx, obj); err != nil {
			return err
		}
	}
	p := fieldPermission(obj).DeepCopy()
	c.note(p.Name, change(p))
	return nil
}

func (c *fieldChanges) update(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if validate != nil {
			if err := validate(ctx, obj, old); err != nil {
				return err
			}
		}
		if before, after := fieldPermission(old), fieldPermission(obj); !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
			c.note(after.Name, FieldChange{Before: before.DeepCopy(), After: after.DeepCopy()})
		}
		return nil
	}
}

func (c *fieldChanges) sorted() (out []FieldChange) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.all)) {
		out = append(out, c.all[name])
	}
	return out
}
