// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// conversion is a version of a custom resource other than that of the request, if it has an
// excluded permission (one that `update` does not include). A conversion webhook makes an object
// of that version from the object that is written. The webhook may move the value of an
// annotation, or of a field with an included permission, into a field with an excluded
// permission. So such fields are also compared in that version, after the webhook converted the
// old and the new object.
//
// A field that the webhook drops can't be compared. Included permissions are checked only in the
// version of the request.
type conversion struct {
	// target is the target of the request, in the other version.
	target granular.Target
	kind   *kind

	// observed is the caller's change in the other version. everything is set if that change is
	// not known; then every change counts as the caller's.
	observed   change.Set
	everything bool
}

// conversionsOf returns the conversions of a target. If the target is a scale, they are the
// conversions of the scaled resource. Nearly every target has none. This function is so small
// that the compiler inlines the test for that into every write.
func conversionsOf(target granular.Target) []conversion {
	if target.Schema == nil || len(target.Schema.Converted) == 0 {
		return nil
	}
	return conversionsFrom(target)
}

func conversionsFrom(target granular.Target) []conversion {
	written := target.Kind
	if target.Scale != nil {
		written = target.Scale.Kind
	}
	var out []conversion
	for _, of := range target.Schema.Converted {
		if of == written {
			continue
		}
		c := conversion{target: target, everything: true}
		c.target.Kind = of
		c.kind = kindOf(c.target)
		if c.kind.excludes() {
			out = append(out, c)
		}
	}
	return out
}

// observe records the caller's change in the other version.
func (c *conversion) observe(newObj, oldObj runtime.Object) {
	observed, _, _, err := c.compare(newObj, oldObj)
	c.observed, c.everything = observed, err != nil
}

// compare returns the changes, in the other version, of fields with excluded permissions. It also
// returns both objects in that version.
func (c *conversion) compare(newObj, oldObj runtime.Object) (set change.Set, newThere, oldThere runtime.Object, err error) {
	if c.kind.walker == nil {
		return nil, nil, nil, c.kind.err
	}
	if newThere, oldThere, err = c.convert(newObj, oldObj); err != nil {
		return nil, nil, nil, err
	}
	set, err = c.kind.compare(c.target, change.ExcludedOnly, newThere, oldThere)
	return set, newThere, oldThere, err
}

// convert converts both objects to the other version, in one call of the webhook. If oldObj is
// not stored, oldThere is nil.
func (c *conversion) convert(newObj, oldObj runtime.Object) (newThere, oldThere runtime.Object, err error) {
	list := &unstructured.UnstructuredList{}
	for _, obj := range []runtime.Object{newObj, oldObj} {
		if obj == oldObj && !convert.Stored(oldObj) {
			continue
		}
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || c.target.Convertor == nil {
			return nil, nil, convert.ErrNotComparable
		}
		list.Items = append(list.Items, *u)
	}
	of := list.Items[0].GroupVersionKind()
	list.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
	converted, err := c.target.Convertor.ConvertToVersion(list, c.target.Kind.GroupVersion())
	if err != nil {
		return nil, nil, err
	}
	there, ok := converted.(*unstructured.UnstructuredList)
	if !ok || len(there.Items) != len(list.Items) {
		return nil, nil, convert.ErrNotComparable
	}
	if len(there.Items) > 1 {
		oldThere = &there.Items[1]
	}
	return &there.Items[0], oldThere, nil
}

// observeConverted records the caller's change in other versions. For a write to a scale, the
// scaled resource is not known yet, so every change of the resource counts as the caller's.
func (w *write) observeConverted(newObj, oldObj runtime.Object) {
	if w.scale != nil {
		return
	}
	for i := range w.conversions {
		w.conversions[i].observe(newObj, oldObj)
	}
}

// errNotShown means that granular.ScaledFrom has no resource for a scale. That is a bug of this
// server.
var errNotShown = errors.New("bug of this server: the resource behind the scale is missing")

// resource returns newObj and oldObj. For a scale with conversions it returns the scaled resource
// instead, as it is about to be stored and as it is stored.
func (w *write) resource(ctx context.Context, newObj, oldObj runtime.Object) (resource, was runtime.Object, err error) {
	if w.scale == nil || len(w.conversions) == 0 {
		return newObj, oldObj, nil
	}
	if resource, was = granular.ScaledFrom(ctx); resource == nil {
		return nil, nil, apierrors.NewInternalError(errNotShown)
	}
	return resource, was, nil
}

// verifyConverted verifies what is about to be stored, in the other versions.
func (w *write) verifyConverted(ctx context.Context, newObj, oldObj runtime.Object) error {
	for i := range w.conversions {
		c := &w.conversions[i]
		if c.kind.walker == nil {
			return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", c.kind.err))
		}
		if !c.everything && w.decider.CoveredAsObserved(ctx, c.observed, false) {
			continue
		}
		changes, newThere, oldThere, err := c.compare(newObj, oldObj)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("the object can't be verified in version %s, because its conversion failed: %w", c.target.Kind.Version, err))
		}
		if !c.everything {
			changes = change.Answerable(c.observed, changes)
		}
		refusal, err := w.decide(ctx, changes, false, newObj)
		if err != nil {
			return err
		}
		if refusal != nil {
			in := inVersion{kind: c.kind, target: c.target, observed: c.observed, shown: " of version " + c.target.Kind.Version}
			return w.refusedIn(ctx, in, refusal, newThere, oldThere)
		}
	}
	return nil
}
