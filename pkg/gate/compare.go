// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// compare returns the changes from oldObj to newObj, each with the permissions that cover it. mode
// tells which fields are compared. If oldObj is nil or was never stored, every field of newObj is
// a change, except fields that have their default value.
func (k *kind) compare(target granular.Target, mode change.Mode, newObj, oldObj runtime.Object) (change.Set, error) {
	return k.changes(target, newObj, oldObj, func(old, new any) (change.Set, error) {
		return k.walker.Compare(mode, old, new)
	})
}

// compareObserved is like compare, but compares only the top-level fields in which a change was
// observed. The result is enough to find those of the observed changes that are about to be
// stored.
func (k *kind) compareObserved(target granular.Target, mode change.Mode, observed change.Set, newObj, oldObj runtime.Object) (change.Set, error) {
	return k.changes(target, newObj, oldObj, func(old, new any) (change.Set, error) {
		return k.walker.CompareObserved(mode, observed, old, new)
	})
}

// compareFields returns the changes of fields with an excluded permission, from oldObj, which is stored, to
// newObj. It does not look at annotations and labels that hold the value of a field.
func (k *kind) compareFields(target granular.Target, newObj, oldObj runtime.Object) (change.Set, error) {
	s := k.scratch.Borrow()
	defer k.scratch.GiveBack(s)
	newVersioned, err := s.New(target, newObj)
	if err != nil {
		return nil, err
	}
	oldVersioned, err := s.Old(target, oldObj)
	if err != nil {
		return nil, err
	}
	set, err := k.walker.Compare(change.ExcludedOnly, oldVersioned, newVersioned)
	return slices.Concat(k.named.changes(oldVersioned, newVersioned), set), err
}

func (k *kind) changes(target granular.Target, newObj, oldObj runtime.Object, compare func(old, new any) (change.Set, error)) (change.Set, error) {
	if k.walker == nil {
		return nil, k.err
	}
	s := k.scratch.Borrow()
	set, err := k.changesIn(s, target, newObj, oldObj, compare)
	k.scratch.GiveBack(s)
	return set, err
}

func (k *kind) changesIn(
	s *convert.Scratch, target granular.Target, newObj, oldObj runtime.Object, compare func(old, new any) (change.Set, error),
) (change.Set, error) {
	newVersioned, err := s.New(target, newObj)
	if err != nil {
		return nil, err
	}
	if convert.Stored(oldObj) {
		oldVersioned, err := s.Old(target, oldObj)
		if err != nil {
			return nil, err
		}
		set, err := compare(oldVersioned, newVersioned)
		if err != nil || newVersioned == any(newObj) {
			return set, err
		}
		backed, err := k.annotationBackedChanges(target, newObj, oldObj, newVersioned, oldVersioned)
		return slices.Concat(backed, k.named.changes(oldVersioned, newVersioned), set), err
	}
	set, err := compare(nil, newVersioned)
	if err != nil {
		return nil, err
	}
	// A field of a new object that is absent or has its default value is no change of the caller.
	if blank := convert.Pristine(target); blank != nil && len(set) > 0 {
		written, err := compare(blank, newVersioned)
		if err != nil {
			return nil, err
		}
		set = change.Intersect(written, set)
	}
	if newVersioned == any(newObj) {
		return set, nil
	}
	backed, err := k.annotationBackedChanges(target, newObj, nil, newVersioned, nil)
	return slices.Concat(backed, k.named.changes(nil, newVersioned), set), err
}

// locate returns the path of a change c, for a message. by computes the path from c and both
// objects in the version of the request. If an object can't be converted to that version, by gets
// no objects.
func (k *kind) locate(
	target granular.Target, c change.Change, newObj, oldObj runtime.Object, locator func(w *change.Walker, c change.Change, old, new any) string,
) string {
	newVersioned, err := convert.Versioned(target, newObj)
	if err != nil {
		return locator(k.walker, c, nil, nil)
	}
	oldVersioned, err := convert.Before(target, oldObj)
	if err != nil {
		return locator(k.walker, c, nil, nil)
	}
	return locator(k.walker, c, oldVersioned, newVersioned)
}
