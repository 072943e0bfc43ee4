// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// Mode selects the changes that a comparison returns.
type Mode int

const (
	// ExcludedOnly selects changes of excluded permissions, which update does not include. It is
	// for a caller who holds the ordinary verb.
	ExcludedOnly Mode = iota
	// All selects all changes. It is for a granular request: the caller does not hold the ordinary
	// verb and needs a permission for each change.
	All
)

// Walker compares objects of one kind along the permission tree of the kind. It may be used by any
// number of goroutines.
type Walker struct {
	tree *schema.Tree
	// plans has one entry for each Go type that was compared. Most built-in kinds have one Go
	// type, and custom resources have none.
	plans atomic.Pointer[[]cachedPlan]
}

// cachedPlan is the plan of a Go type, or the error that prevents a plan.
type cachedPlan struct {
	typ  reflect.Type
	plan *typePlan
	err  error
}

// walks holds walks that are not in use. All kinds share them.
var walks = sync.Pool{New: func() any { return &walk{} }}

// NewWalker returns a Walker for a permission tree.
func NewWalker(tree *schema.Tree) *Walker { return &Walker{tree: tree} }

// Tree returns the permission tree of the Walker.
func (w *Walker) Tree() *schema.Tree { return w.tree }

// NothingToCheck reports whether Compare never returns a change, whatever the objects are. This is
// so if the mode is ExcludedOnly and the kind has no excluded permission.
func (w *Walker) NothingToCheck(mode Mode) bool { return mode == ExcludedOnly && !w.tree.HasExcluded() }

// Compare returns which permission nodes changed from old to new. Both objects are pointers to the
// same Go type, or each is a map[string]any or has a method UnstructuredContent. old is nil on
// create. An error means that the objects can't be compared along the tree. The write must then be
// refused.
func (w *Walker) Compare(mode Mode, old, new any) (Set, error) {
	return w.compare(mode, allFields, old, new)
}

// CompareObserved is a faster Compare for the object about to be stored. observed are the changes
// before mutating admission. Top-level fields in which observed has no change can be left out.
// Intersect(observed, result) returns the same as with the result of Compare.
func (w *Walker) CompareObserved(mode Mode, observed Set, old, new any) (Set, error) {
	if isNil(old) {
		// If a walk finds no change inside a new object, it charges the root. So all fields must
		// be compared here.
		return w.Compare(mode, old, new)
	}
	return w.compare(mode, observed.fields(w.tree.Root), old, new)
}

func (w *Walker) compare(mode Mode, fields fieldSet, old, new any) (Set, error) {
	if w.NothingToCheck(mode) {
		return nil, nil
	}
	if w.tree.Root.Kind != schema.Object {
		return nil, fmt.Errorf("walk of %s: the root is not an object", w.tree.Name)
	}
	if n, ok := content(new); ok {
		o, ok := content(old)
		if !ok && !isNil(old) {
			return nil, fmt.Errorf("walk of %s: old is a %T, new a %T", w.tree.Name, old, new)
		}
		before := plainView{}
		if ok {
			before = plainView{value: o, present: true}
		}
		return run(w, mode, fields, fast.Position{}, before, plainView{value: n, present: true}), nil
	}
	v := reflect.ValueOf(new)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("walk of %s: new is a %T, not a pointer to a struct", w.tree.Name, new)
	}
	p, err := w.plan(v.Type())
	if err != nil {
		return nil, fmt.Errorf("walk of %s: %w", w.tree.Name, err)
	}
	before := typedView{p: p}
	if !isNil(old) {
		if before.v = reflect.ValueOf(old); before.v.Type() != v.Type() {
			return nil, fmt.Errorf("walk of %s: old is a %T, new a %T", w.tree.Name, old, new)
		}
	}
	after, found := typedView{v: v, p: p}, fast.Position{}
	if mode == All && fields == allFields && before.canScan(after) { // otherwise a scan would compare fields that are not needed
		same := false
		if found, same = before.same(after); same {
			return nil, nil
		}
	}
	return run(w, mode, fields, found, before, after), nil
}

// run walks two objects and returns their changes. found is where an earlier scan of their fields
// ended, and zero if there was no such scan.
func run[V view[V]](w *Walker, mode Mode, fields fieldSet, found fast.Position, old, new V) Set {
	k := walks.Get().(*walk)
	k.mode, k.tree, k.in, k.path, k.out, k.created, k.byDefault, k.removedAt = mode, w.tree, fields, k.path[:0], nil, old.state() == absent, false, 0
	k.found = found
	compareNode(k, w.tree.Root, old, new)
	out := k.out
	clear(k.path[:cap(k.path)])
	k.tree, k.out, k.found = nil, nil, fast.Position{}
	walks.Put(k)
	return out.normalize()
}

// plan returns the plan of a Go type, and compiles it at first use.
func (w *Walker) plan(t reflect.Type) (*typePlan, error) {
	for {
		known := w.plans.Load()
		var list []cachedPlan
		if known != nil {
			list = *known
		}
		for i := range list {
			if list[i].typ == t {
				return list[i].plan, list[i].err
			}
		}
		p, err := compile(schema.NodePath{w.tree.Root}, t)
		if err != nil {
			p = nil
		}
		next := append(slices.Clip(list), cachedPlan{t, p, err})
		if w.plans.CompareAndSwap(known, &next) {
			return p, err
		}
	}
}

// content returns the map of an unstructured object, and false if object is not one.
func content(object any) (map[string]any, bool) {
	switch o := object.(type) {
	case map[string]any:
		return o, o != nil
	case interface{ UnstructuredContent() map[string]any }:
		if isNil(o) {
			return nil, false
		}
		return o.UnstructuredContent(), true
	}
	return nil, false
}

// isNil reports whether object is nil, or a nil pointer or map.
func isNil(object any) bool {
	v := reflect.ValueOf(object)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return false
}
