// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// state is how a value is there.
type state int

const (
	absent state = iota
	null
	present
)

// view is a value of an object as the walk sees it. There are two: typed for Go
// types and plain for unstructured ones. The zero view is an absent value.
type view[V any] interface {
	state() state
	// blank says that the value is not there because nobody put one there, so the
	// schema's default stands for it.
	unset() bool
	// identical says that both are the very same value in memory. It is cheap and
	// may say false of equal values.
	identical(V) bool
	// equal compares strictly, by representation, and may be asked about absent values.
	equal(V) bool
	// shaped says whether the value is what the node's kind expects. Absent and
	// null are; a view that is not is taken for absent by all methods below.
	hasShape(*schema.Node) bool

	// field gives the child of an object at the position in n.Fields.
	field(n *schema.Node, i int) V
	// quick says that next can be asked, and what leads to no child then as well. next
	// gives the next child that may differ, from a position on, and the position behind
	// it; the number of children for what leads to none, and more than that for nothing.
	canScan(other V) bool
	nextDiffering(at int, other V, found *fast.Position) (child, behind int)
	// sameRest compares the fields of an object that lead to no child, and differing
	// names those that differ. That the server's own differ is never seen.
	sameRest(n *schema.Node, other V) bool
	differing(n *schema.Node, other V) []string
	// differingKeys lists the keys of two maps whose values are not equal, or that
	// one of them lacks.
	differingKeys(other V) []string
	// at gives the value of a map's key.
	at(key string) V

	// none is an absent element of the map or list.
	absentElem() V

	// len, index and key look at a list. key gives what identifies an element of
	// a ListMap or Set, and false if it can't be told: the text of each key, and
	// after these what tells keys of the same text apart.
	len() int
	index(i int) V
	key(n *schema.Node, i int) ([]string, bool)
	// keyed reports whether the value is a map or absent, with texts in it if its type
	// says what is in it. text returns a scalar that is a string.
	isStringMap() bool
	text() (string, bool)
	// called returns the name of an object in a list: that in its metadata, or else its
	// own. It is empty if there is none.
	objectName() string
	// plain gives the value as decoded JSON, and false if it has no such form.
	decoded() (any, bool)
	// omitempty says that plain leaves out what is zero.
	omitempty() bool
}
