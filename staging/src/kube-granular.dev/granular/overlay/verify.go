// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"slices"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Verify returns an error if an exclusion that Apply reported as Active or Degraded is not in the
// tree that was compiled from its result. The writes of the kind must then be refused. outcomes are
// those of Apply for the entries e.
func Verify(tree *schema.Tree, e *Entries, outcomes []Outcome) error {
	if e == nil {
		return nil
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.Excluded && !carries(tree, &e.Fields[i], e.Fields[i].heldAt(o), true) {
			return fmt.Errorf("the exclusion of %s by FieldPermission %s is not in the permission tree", o.Path, e.OriginOf(&e.Fields[i]).Source)
		}
	}
	return nil
}

// heldAt returns the path at which the entry holds.
func (f *Field) heldAt(o *Outcome) Path {
	if o.State != Degraded {
		return f.Path
	}
	for n := range f.Path {
		if f.Path[:n].String() == o.Held {
			return f.Path[:n]
		}
	}
	return f.Path
}

// carries reports whether the node at a path carries an entry. The name in the tree may have the prefix of
// a scope.
func carries(tree *schema.Tree, f *Field, path Path, excluded bool) bool {
	n, scope := tree.Root, ""
	for _, step := range path {
		if inner := n.Scope(); inner != "" {
			scope = inner
		}
		if step.Every {
			n = n.Elem()
		} else {
			n = n.Child(step.Name)
		}
		if n == nil {
			return false
		}
	}
	name := permission.Scoped(scope, f.Permission)
	return slices.ContainsFunc(n.Own(), func(p *schema.Permission) bool {
		return p.Entry && p.Excluded == excluded && p.Embedded == (f.Origin != nil) && p.Name == name
	})
}
