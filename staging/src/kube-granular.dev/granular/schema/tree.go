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

// Bounds of a tree. Past them the schema is refused: a kind without a tree can
// be changed by no granular request.
const (
	// MaxPermissionsOnPath is the longest chain. Built-in kinds reach nine: the
	// annotations of a claim template in a volume of a cron job's pods. Every
	// permission of a chain may be asked for every field, so authors of custom
	// resources are held to fewer.
	MaxPermissionsOnPath = 12
	// MaxNodes is the most places a tree may have, nodes that are shared counted at
	// each of them.
	MaxNodes = 10000
	// MaxDepth is how deep below the root a permission may lie.
	MaxDepth = 128
)

// Tree is the permission tree of one kind in one version.
type Tree struct {
	// Name is the definition the tree was compiled from, for messages.
	Name string
	// Root is never nil; it may have neither fields nor permissions.
	Root *Node

	// source gives the definitions the tree was compiled from. It makes them each time,
	// unless lent says that they are kept.
	source func() map[string]*spec.Schema
	cached atomic.Pointer[definitionCache]
}

// HasExcluded reports whether the requests of callers who hold the ordinary verb are looked
// at too.
func (t *Tree) HasExcluded() bool { return t.Root.ExcludedAt || t.Root.ExcludedBelow }

// Place is where a node lies in a tree: the nodes from the root to it.
type NodePath []*Node

// Node is what lies there.
func (p NodePath) Node() *Node { return p[len(p)-1] }

// Pattern gives the place in any object, such as .metadata.labels[*].
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

// Places gives every place of the tree, depth first over sorted fields. A place is
// good until the next one is asked for.
func (t *Tree) NodePaths() iter.Seq[NodePath] {
	return func(yield func(NodePath) bool) { NodePath{t.Root}.below(yield) }
}

// below gives a place and all below it.
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

// Info describes one permission for documentation.
type Info struct {
	*Permission
	// Pattern is where the permission lies, see Place.Pattern.
	Pattern string
	// Above names the permissions that cover it, most general first.
	Above []string
}

// Permissions lists every permission of the tree at every place it has, in the
// order of Places.
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

// String draws the tree, one node a line, for people and golden files.
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
			if from := p.Parameter; from != nil {
				fmt.Fprintf(&b, "(%s %s", from.Source, place[:from.SourceDepth+1].Pattern())
				if from.Treatment != "" {
					b.WriteString(" " + string(from.Treatment))
				}
				if from.Expression != nil {
					b.WriteString(" expression")
				}
				b.WriteString(")")
			}
			if p.Excluded {
				b.WriteString(" excluded")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
