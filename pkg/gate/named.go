// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/overlay"
)

// named has the exclusions of fields that are found by name in the field data of a ControllerRevision.
// No schema describes that field, and the controllers of daemon sets and stateful sets make pods from it.
type named struct {
	fields []*overlay.Field
	// walker has a tree with these fields. The Go type of the object does not have them, so it compares no
	// objects.
	walker *change.Walker
}

// named returns the exclusions of fields that are found by name.
func (f entrySet) named() (out []*overlay.Field) {
	for i := range f.entries.Fields {
		if e := &f.entries.Fields[i]; e.Named != nil && f.refuses(e) {
			out = append(out, e)
		}
	}
	return out
}

// namedWith compiles the tree with exclusions of fields that are found by name.
func (k *kind) namedWith(added entrySet, fields []*overlay.Field) (*named, error) {
	tree, err := k.treeWith(added, added.entries)
	if err != nil {
		return nil, err
	}
	return &named{fields, change.NewWalker(tree)}, nil
}

// changes returns the changes of the fields that the old or the new data has, if the data differ. Data
// that can't be read stands for every field.
func (n *named) changes(old, now any) (out change.Set) {
	if n == nil {
		return nil
	}
	after, readable := dataOf(now)
	before, _ := dataOf(old)
	if readable && old != nil && equal.JSON(before, after) {
		return nil
	}
	for _, f := range n.fields {
		if !readable || f.NamedIn(after) || f.NamedIn(before) {
			out = append(out, n.walker.Charge(f.Path[0].Name, f.Path[1].Name))
		}
	}
	return out
}
