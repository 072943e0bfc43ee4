// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Bounds of a tree. A schema that exceeds one is refused. Its kind then has no tree, so no
// granular request can change objects of this kind.
const (
	// MaxPermissionsOnPath is the highest length of a chain: the number of permissions that cover
	// one field. Built-in kinds reach nine, for the annotations of a claim template in a volume of
	// a cron job's pods. A request may have to ask for every permission of a chain, so the server
	// sets a lower limit for custom resources; see WithMaxPermissionsOnPath.
	MaxPermissionsOnPath = 12
	// MaxNodes is the highest number of places in a tree. A shared node counts once for each of
	// its places.
	MaxNodes = 10000
	// MaxDepth is the greatest depth of a permission below the root.
	MaxDepth = 128
)

// Tree is the permission tree of one kind in one version: its fields, and the permissions with
// which a caller may change them.
type Tree struct {
	// Name is the name of the definition that the tree was compiled from. Messages show it.
	Name string
	// Root is never nil. It may have neither fields nor permissions.
	Root *Node

	// source returns the definitions that the tree was compiled from. If cached is permanent, the
	// definitions are in memory. If not, each call generates them.
	source func() map[string]*spec.Schema
	cached atomic.Pointer[definitionCache]
}

// HasExcluded reports whether some permission of the tree is excluded. If so, a request must be
// checked even if its caller holds the ordinary verb (create, update or patch).
func (t *Tree) HasExcluded() bool { return t.Root.ExcludedAt || t.Root.ExcludedBelow }

// NodePath is the path to a place in a tree: the list of the nodes from the root to the node at
// this place. A node that is in several places has several NodePaths.
type NodePath []*Node

// Node returns the node that the path leads to.
func (p NodePath) Node() *Node { return p[len(p)-1] }

// Pattern returns the path without keys, such as .metadata.labels[*].
func (p NodePath) Pattern() string {
	var b strings.Builder
	for i, n := range p {
		switch {
		case i == 0:
		case n.Field != "":
			b.WriteString("." + n.Field)
		default:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// Pattern returns a path as NodePath.Pattern does. The path of the root is ".".
func Pattern(way []Step) string {
	if len(way) == 0 {
		return "."
	}
	var b strings.Builder
	for _, step := range way {
		if step.Elem {
			b.WriteString("[*]")
		} else {
			b.WriteString("." + step.Field)
		}
	}
	return b.String()
}

// Steps returns the path as steps from the root.
func (p NodePath) Steps() []Step {
	out := make([]Step, 0, len(p)-1)
	for _, n := range p[1:] {
		out = append(out, Step{Field: n.Field, Elem: n.Field == ""})
	}
	return out
}

// Nearest returns the node at the end of a path or, if the tree has none there, the last node on the
// way. The permissions of that node cover the field.
func (t *Tree) Nearest(way []Step) *Node {
	n := t.Root
	for _, step := range way {
		next := n.Elem()
		if !step.Elem {
			next = n.Child(step.Field)
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// NodePaths yields every path of the tree, depth first over sorted fields. A path must not be used
// after the next one was yielded, because the two may share memory.
func (t *Tree) NodePaths() iter.Seq[NodePath] {
	return func(yield func(NodePath) bool) { NodePath{t.Root}.below(yield) }
}

// below yields a path and all paths below it.
func (p NodePath) below(yield func(NodePath) bool) bool {
	if !yield(p) {
		return false
	}
	n := p.Node()
	for _, child := range n.Fields() {
		if !append(p, child).below(yield) {
			return false
		}
	}
	elem := n.Elem()
	return elem == nil || append(p, elem).below(yield)
}

// Info describes one permission at one place, for documentation.
type Info struct {
	*Permission
	// Pattern is the place of the permission; see NodePath.Pattern.
	Pattern string
	// Above has the names of the more general permissions that cover the same place, most general
	// first.
	Above []string
}

// Permissions returns every permission of the tree, once for each of its places, in the order of
// NodePaths.
func (t *Tree) Permissions() []Info {
	var out []Info
	for place := range t.NodePaths() {
		n := place.Node()
		chain := n.Chain()
		for i := len(chain) - int(n.own); i < len(chain); i++ {
			info := Info{Permission: chain[i], Pattern: place.Pattern()}
			for _, above := range chain[:i] {
				info.Above = append(info.Above, above.Name)
			}
			out = append(out, info)
		}
	}
	return out
}

var kindNames = [...]string{Leaf: "leaf", Object: "object", Map: "map", ListMap: "list-map", Set: "set", List: "list"}

func (k NodeKind) String() string { return kindNames[k] }

// String returns a drawing of the tree, one line for each node, for people and golden files.
func (t *Tree) String() string {
	var b strings.Builder
	for place := range t.NodePaths() {
		n := place.Node()
		b.WriteString(strings.Repeat("  ", len(place)-1))
		switch {
		case len(place) == 1:
			b.WriteString(t.Name)
		case n.Field != "":
			b.WriteString(n.Field)
		default:
			b.WriteString("*")
		}
		fmt.Fprintf(&b, " (%s", n.Kind)
		for _, k := range n.Keys() {
			fmt.Fprintf(&b, " %s", k.Name)
		}
		if n.Attribute() != 0 {
			fmt.Fprintf(&b, " of %ss", n.Attribute())
		}
		b.WriteString(")")
		for _, p := range n.Own() {
			b.WriteString(" " + p.Name)
			if parameter := p.Parameter; parameter != nil {
				b.WriteString("(" + parameter.Source)
				if !parameter.FromValue {
					b.WriteString(" " + place[:parameter.SourceDepth+1].Pattern())
				}
				if parameter.Treatment != "" {
					b.WriteString(" " + string(parameter.Treatment))
				}
				if parameter.Expression != nil {
					b.WriteString(" expression")
				}
				b.WriteString(")")
			}
			if p.Excluded {
				b.WriteString(" excluded")
			}
			if p.Entry {
				b.WriteString(" by entry")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
