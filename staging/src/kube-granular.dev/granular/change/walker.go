// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"

	"kube-granular.dev/granular/schema"
)

// Mode says which changes are of interest.
type Mode int

const (
	// Sparse looks at excluded permissions only: the request of a caller who
	// holds the ordinary verb.
	Sparse Mode = iota
	// Full looks at everything: a granular request.
	Full
)

// Walker compares objects of one kind. It keeps the plans compiled for the Go
// types it met and may be used by any number of goroutines.
type Walker struct {
	tree *schema.Tree
}

// NewWalker makes the walker of a tree.
func NewWalker(tree *schema.Tree) *Walker { return &Walker{tree: tree} }

// Tree gives the tree the walker was made for.
func (w *Walker) Tree() *schema.Tree { return w.tree }

// Idle says that Compare would find nothing whatever the objects hold: a Sparse
// walk of a kind without excluded permissions.
func (w *Walker) Idle(mode Mode) bool { return mode == Sparse && !w.tree.HasExcluded() }

// Compare says which permission nodes changed from old to new. Both are pointers
// to the same Go type, or both are map[string]any or have UnstructuredContent.
// old is nil on create. An error means that the objects can't be compared
// against the tree; the write must then be refused.
func (w *Walker) Compare(mode Mode, old, new any) (Set, error) {
	return nil, fmt.Errorf("not there yet")
}

// Charge makes the change a difference at a field path is charged to, for writes
// that reach an object by another way than its own fields, such as a scale
// subresource or managedFields edited by hand. Only names of fields may be passed.
func (w *Walker) Charge(fields ...string) Change { return Change{} }

// Locate gives the path of the most specific difference below a change, for a
// message: .spec.strategy.type, .metadata.labels[foo.com/bar],
// .status.conditions[type="Ready"].reason. Never a value, at most
// MaxPathLength bytes, only printable ASCII. It is slow.
func (w *Walker) Locate(c Change, old, new any) string { return c.Path.String() }

// Intersect gives the final changes the caller has to answer for: those that the
// caller made, seen before mutating admission, and that are about to be stored.
func Intersect(observed, final Set) Set { return nil }

// String gives the path as a message shows it.
func (p Path) String() string { return "" }
