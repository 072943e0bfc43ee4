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
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// conversion is a version of the kind other than the version of the request, with a field that needs an
// excluded permission (one that `update` does not include). A conversion webhook, or for a built-in kind
// the server itself, converts the object that is written to that version. The webhook can move the value of an
// annotation, or of a field with an included permission, into the field with the excluded
// permission. So the webhook converts the old and the new object, and the fields with excluded
// permissions are compared in that version too.
//
// A field that the webhook drops can't be compared. Included permissions are checked only in the
// version of the request.
type conversion struct {
	// target is the target of the request, with the other version in place of the request's.
	target granular.Target
	kind   *kind
	// observation is the caller's change in the other version.
	observation[change.Set]
	// admitted is what mutating admission left there, for a built-in kind.
	admitted admitted
}

// conversionsOf returns the other versions of the kind in which a write must be verified
// too. For a scale they are versions of the scaled resource. Nearly always there are none.
// conversionsOf tests that and nothing else, so that it is small enough to be inlined.
func conversionsOf(target granular.Target, added entrySet) []conversion {
	if target.Schema == nil || len(target.Schema.Converted) == 0 && added.entries == nil {
		return nil
	}
	return conversionsFrom(target, added)
}

func conversionsFrom(target granular.Target, added entrySet) []conversion {
	written := target.Kind
	if target.Scale != nil {
		written = target.Scale.Kind
	}
	var out []conversion
	for _, gvk := range added.convertedTo(target, written) {
		if gvk == written || target.Schema.Stored != nil && gvk == target.Schema.Stored.Kind {
			continue // see storedForm
		}
		c := conversion{target: target}
		c.target.Kind = gvk
		c.kind = kindWith(c.target, added)
		if c.kind.excludes() {
			out = append(out, c)
		}
	}
	return out
}

// observe finds and keeps the caller's own change in the other version.
func (c *conversion) observe(newObj, oldObj runtime.Object) {
	observed, _, _, err := c.compare(newObj, oldObj)
	c.keep(observed, err)
	c.admitted = admitted{}
}

// compare converts both objects to the other version and compares there the fields with excluded
// permissions. It returns the changes of these fields, and both converted objects.
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

// builtin reports whether the kind is a built-in one, whose objects need no webhook.
func (c *conversion) builtin() bool {
	return c.target.Schema.Excludes == nil && c.target.Schema.Stored == nil
}

// inVersion returns the inVersion of the other version.
func (c *conversion) inVersion() inVersion {
	return inVersion{kind: c.kind, target: c.target, observed: c.observed, shown: " of version " + c.target.Kind.Version}
}

// convert converts both objects to the other version, in one call of the webhook. If oldObj does
// not come from storage, which is so for a create, oldThere is nil.
func (c *conversion) convert(newObj, oldObj runtime.Object) (newThere, oldThere runtime.Object, err error) {
	if c.builtin() { // compare converts its objects
		if !convert.Stored(oldObj) {
			return newObj, nil, nil
		}
		return newObj, oldObj, nil
	}
	list := &unstructured.UnstructuredList{}
	for _, obj := range []runtime.Object{newObj, oldObj} {
		if obj == oldObj && !convert.Stored(oldObj) {
			continue
		}
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return nil, nil, convert.ErrNotComparable
		}
		list.Items = append(list.Items, *u)
	}
	kind := list.Items[0].GroupVersionKind()
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	there, err := convertList(c.target.Convertor, list, c.target.Kind.GroupVersion())
	if err != nil {
		return nil, nil, err
	}
	if len(there.Items) > 1 {
		oldThere = &there.Items[1]
	}
	return &there.Items[0], oldThere, nil
}

// convertList converts a list of custom resources to a version, in one call of the webhook.
func convertList(convertor runtime.ObjectConvertor, list *unstructured.UnstructuredList, version gvk.GroupVersion) (*unstructured.UnstructuredList, error) {
	if convertor == nil {
		return nil, convert.ErrNotComparable
	}
	converted, err := convertor.ConvertToVersion(list, version)
	if err != nil {
		return nil, err
	}
	there, ok := converted.(*unstructured.UnstructuredList)
	if !ok || len(there.Items) != len(list.Items) {
		return nil, convert.ErrNotComparable
	}
	return there, nil
}

// observeConverted finds and keeps the caller's own change in the other versions of w.conversions.
// For a write to a scale it does nothing, because the scaled resource is not known yet. Then every
// change of that resource counts as the caller's.
func (w *write) observeConverted(newObj, oldObj runtime.Object) {
	if w.scale != nil {
		return
	}
	for i := range w.conversions {
		w.conversions[i].observe(newObj, oldObj)
	}
}

// errNotShown means that granular.ScaledFrom returned no resource for a scale. The patched storage
// of scales must provide the resource, so this is a bug of the server.
var errNotShown = errors.New("bug of this server: the resource behind the scale is missing")

// resource returns the new and the old object that are to be compared in other versions. These are
// newObj and oldObj, except for a scale. If w writes a scale and is verified in other versions, they
// are the scaled resource as it is about to be stored, and as it is stored.
func (w *write) resource(ctx context.Context, newObj, oldObj runtime.Object) (resource, old runtime.Object, err error) {
	if w.scale == nil || len(w.conversions) == 0 && !w.stored.partial {
		return newObj, oldObj, nil
	}
	if resource, old = granular.ScaledFrom(ctx); resource == nil {
		return nil, nil, apierrors.NewInternalError(errNotShown)
	}
	return resource, old, nil
}

// verifyConverted verifies newObj, which is about to be stored, in the other versions of
// w.conversions. Only excluded permissions are checked there.
func (w *write) verifyConverted(ctx context.Context, newObj, oldObj runtime.Object) error {
	for i := range w.conversions {
		c := &w.conversions[i]
		if c.kind.walker == nil {
			if err := w.unverified(ctx, c.kind, c.kind.err, newObj); err != nil {
				return err
			}
			continue
		}
		if c.known && w.decider.CoveredAsObserved(ctx, c.observed, false) {
			continue
		}
		changes, newThere, oldThere, err := c.compare(newObj, oldObj)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("the object can't be verified in version %s, because its conversion failed: %w",
				c.target.Kind.Version, err))
		}
		refusal, err := w.decide(ctx, c.intersect(changes, change.Answerable), false, newObj)
		if err != nil {
			return err
		}
		if refusal != nil {
			return w.refusedIn(ctx, c.inVersion(), refusal, newThere, oldThere)
		}
	}
	return nil
}
