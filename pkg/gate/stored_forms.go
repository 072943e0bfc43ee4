// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// storedForms are objects of one write, in the version in which objects are stored.
type storedForms struct {
	// final is the object that is about to be stored.
	final *unstructured.Unstructured
	// observed is the object with the caller's own change, nil if that is not known. unchanged is
	// the stored object after it was read and written in the version of the request, nil if nothing
	// is stored. A difference between it and the stored object is part of the caller's own change
	// too: any write through that version makes it, whatever the caller sends.
	observed, unchanged *unstructured.Unstructured
}

// storedForms converts objects in the version of the request to the version in which objects are
// stored. A conversion webhook converts all in one call. The results share memory with the objects.
func (w *write) storedForms(newObj, oldObj runtime.Object) (storedForms, error) {
	var out storedForms
	u, ok := newObj.(*unstructured.Unstructured)
	if !ok {
		return out, convert.ErrNotComparable
	}
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*u}}
	if w.stored.observed != nil {
		list.Items = append(list.Items, *w.stored.observed)
		if old, ok := oldObj.(*unstructured.Unstructured); ok && convert.Stored(oldObj) {
			list.Items = append(list.Items, *old)
		}
	}
	kind := w.stored.by.Kind
	switch {
	case w.stored.version == kind.Version:
	case w.stored.by.Webhook:
		list.SetGroupVersionKind(u.GroupVersionKind().GroupVersion().WithKind(kind.Kind + "List"))
		var err error
		if list, err = convertList(w.target.Convertor, list, kind.GroupVersion()); err != nil {
			return out, err
		}
	default:
		for i := range list.Items {
			list.Items[i].Object = maps.Clone(list.Items[i].Object)
			list.Items[i].SetAPIVersion(kind.GroupVersion().String())
		}
	}
	for i, form := range []**unstructured.Unstructured{&out.final, &out.observed, &out.unchanged} {
		if i < len(list.Items) {
			*form = &list.Items[i]
		}
	}
	return out, nil
}

// verifyIn verifies the write in one version.
func (w *write) verifyIn(ctx context.Context, judged *judgedVersion, forms storedForms, newObj runtime.Object) error {
	if judged.kind.walker == nil {
		if !w.marked && !judged.kind.excluded {
			return nil
		}
		return w.unverified(ctx, judged.kind, judged.kind.err, newObj)
	}
	if judged.kind.walker.NothingToCheck(w.mode()) {
		return nil
	}
	changes, there, err := w.changesIn(judged, forms.final, newObj)
	var observed change.Set
	if err == nil && len(changes) > 0 && forms.observed != nil {
		observed, changes, err = w.answerableIn(judged, forms, changes, newObj)
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("the object can't be verified in version %s: %w", judged.target.Kind.Version, err))
	}
	refusal, err := w.decide(ctx, changes, w.marked, newObj)
	if refusal == nil || err != nil {
		return err
	}
	shown := " of version " + judged.target.Kind.Version
	if judged.target.Kind.Version != w.stored.version {
		shown += fmt.Sprintf(" (version %s may not show it)", w.stored.version)
	}
	return w.refusedIn(ctx, inVersion{kind: judged.kind, target: judged.target, observed: observed, shown: shown}, refusal, there, judged.old)
}

// answerableIn returns the observed changes, and those of the changes that are the caller's: changes
// that were observed, or that any write through the version of the request makes.
func (w *write) answerableIn(judged *judgedVersion, forms storedForms, changes change.Set, newObj runtime.Object) (observed, answerable change.Set, err error) {
	if observed, _, err = w.changesIn(judged, forms.observed, newObj); err != nil {
		return nil, nil, err
	}
	own := observed
	if forms.unchanged != nil {
		lost, _, err := w.changesIn(judged, forms.unchanged, newObj)
		if err != nil {
			return nil, nil, err
		}
		own = change.Union(observed, lost)
	}
	return observed, change.Answerable(own, changes), nil
}

// changesIn returns the changes from the stored object to object, if object is stored. Both are
// compared in the version judged, as the server will read them there. A default that the version sets
// while it reads object is a change only if it replaces another value. changesIn also returns object
// in that version. For a scale, newObj is the scaled resource in the version of the request.
func (w *write) changesIn(judged *judgedVersion, object *unstructured.Unstructured, newObj runtime.Object) (change.Set, runtime.Object, error) {
	data, err := runtime.Encode(w.stored.by.Versions[w.stored.by.Kind.Version].Codec, object)
	if err != nil {
		return nil, nil, err
	}
	read, _, _, err := decodeStored(judged.version, data)
	if err != nil {
		return nil, nil, err
	}
	old := w.expected(judged, read, newObj)
	changes, err := judged.kind.compare(judged.target, w.mode(), read, old)
	if err != nil || len(changes) == 0 || judged.target.Kind != w.stored.by.Kind {
		return changes, read, err
	}
	kept := &unstructured.Unstructured{Object: withoutDefaults(read.Object, object.Object).(map[string]any)}
	sent, err := judged.kind.compare(judged.target, w.mode(), kept, old)
	return change.Intersect(sent, changes), read, err
}

// withoutDefaults returns read without the fields of maps that are not in written, which the server
// has set while it read the object.
func withoutDefaults(read, written any) any {
	switch read := read.(type) {
	case map[string]any:
		source, _ := written.(map[string]any)
		out := make(map[string]any, len(read))
		for name, value := range read {
			if below, ok := source[name]; ok {
				out[name] = withoutDefaults(value, below)
			}
		}
		return out
	case []any:
		items, ok := written.([]any)
		if !ok || len(items) != len(read) {
			return read
		}
		out := make([]any, len(read))
		for i := range read {
			out[i] = withoutDefaults(read[i], items[i])
		}
		return out
	}
	return read
}

// expected returns the stored object with which read, a scaled resource as it will be stored, is
// compared: with the replicas that read has. The rights to the subresource decide about them. That
// holds only for the value that newObj has at the field which the scale writes, and only if the
// scale of the version in writes the same field, without an excluded permission. In all other cases,
// and for requests that write no scale, expected returns the stored object as it is.
func (w *write) expected(judged *judgedVersion, read *unstructured.Unstructured, newObj runtime.Object) runtime.Object {
	sent, ok := newObj.(*unstructured.Unstructured)
	old, okOld := judged.old.(*unstructured.Unstructured)
	if w.scale == nil || !w.scale.set || !ok || !okOld || !slices.Equal(judged.version.Replicas, w.scale.path) {
		return judged.old
	}
	if charge := judged.kind.walker.Charge(w.scale.path...); charge.Node.ExcludedAt {
		return judged.old
	}
	replicas, found, err := unstructured.NestedInt64(read.Object, w.scale.path...)
	if wanted, foundSent, errSent := unstructured.NestedInt64(sent.Object, w.scale.path...); err != nil || errSent != nil || !found ||
		!foundSent || replicas != wanted {
		return judged.old
	}
	if _, _, err := unstructured.NestedInt64(old.Object, w.scale.path...); err != nil {
		return judged.old
	}
	out := old.DeepCopy()
	if unstructured.SetNestedField(out.Object, replicas, w.scale.path...) != nil {
		return judged.old
	}
	return out
}
