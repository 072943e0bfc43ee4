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

// conversion is another version of a custom resource, which excludes something. A webhook
// makes an object of that version of what is written, and may put an annotation or an included
// field of the caller's where the excluded one is. So what is excluded is compared in that
// version as well, in what the webhook makes of the old and the new object.
//
// What the webhook drops is in neither of them and can't be seen. Included permissions are
// those of the version that is written.
type conversion struct {
	// target is that of the request, in the other version.
	target granular.Target
	kind   *kind

	// observed is what the caller changes of the other version. Everything counts as the
	// caller's if that could not be seen.
	observed   change.Set
	everything bool
}

// conversionsOf lists them. Those of a scale are its resource's. Nearly every target has none,
// and that is told inline: every write asks.
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

// observe sees the caller's change in the other version.
func (c *conversion) observe(newObj, oldObj runtime.Object) {
	observed, _, _, err := c.compare(newObj, oldObj)
	c.observed, c.everything = observed, err != nil
}

// compare returns which excluded permissions change in the other version, and the
// objects as they are there.
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

// convert makes objects of the other version of both, in one call of the webhook. What is
// not stored stays nil.
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

// observeConverted sees the caller's change of other versions. A scale does not show its
// resource yet, so all that it will change counts as the caller's.
func (w *write) observeConverted(newObj, oldObj runtime.Object) {
	if w.scale != nil {
		return
	}
	for i := range w.conversions {
		w.conversions[i].observe(newObj, oldObj)
	}
}

// errNotShown is an error of this server.
var errNotShown = errors.New("the resource behind the scale is not shown")

// resource is what is written: the object, or what its scale belongs to.
func (w *write) resource(ctx context.Context, newObj, oldObj runtime.Object) (resource, was runtime.Object, err error) {
	if w.scale == nil || len(w.conversions) == 0 {
		return newObj, oldObj, nil
	}
	if resource, was = granular.ScaledFrom(ctx); resource == nil {
		return nil, nil, apierrors.NewInternalError(errNotShown)
	}
	return resource, was, nil
}

// verifyConverted judges what is about to change of other versions.
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
			return apierrors.NewInternalError(fmt.Errorf("it can't be verified in version %s, whose conversion failed: %w", c.target.Kind.Version, err))
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
