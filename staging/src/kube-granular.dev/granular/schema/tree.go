// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
)

// Bounds of a tree. Past them the schema is refused: a kind without a tree can
// be changed by no granular request.
const (
	// MaxPermissionsOnPath is the longest chain. Built-in kinds reach nine: the
	// annotations of a claim template in a volume of a cron job's pods. Every
	// permission of a chain may be asked for every field, so authors of custom
	// resources are held to fewer.
	MaxPermissionsOnPath = 12
	// MaxNodes is the most nodes a tree may have.
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
	// Nodes holds every node at its ID.
	Nodes []*Node

	models *Models
}

// HasExcluded says whether a caller who holds the ordinary verb is looked at too.
func (t *Tree) HasExcluded() bool { return t.Root.ExcludedAt || t.Root.ExcludedBelow }

// number gives the nodes their IDs and says what is excluded where.
func (t *Tree) number(n *Node) {
	n.ID = len(t.Nodes)
	t.Nodes = append(t.Nodes, n)
	for _, p := range n.Chain {
		n.ExcludedAt = n.ExcludedAt || p.Excluded
	}
	below := func(child *Node) {
		t.number(child)
		n.ExcludedBelow = n.ExcludedBelow || child.ExcludedAt || child.ExcludedBelow
	}
	for _, child := range n.Fields {
		below(child)
	}
	if n.Elem != nil {
		below(n.Elem)
	}
}

// Pattern gives the node's place in any object, such as .metadata.labels[*].
func (n *Node) Pattern() string {
	switch {
	case n.Parent == nil:
		return ""
	case n.Field != "":
		return n.Parent.Pattern() + "." + n.Field
	}
	return n.Parent.Pattern() + "[*]"
}

// Info describes one permission for documentation.
type Info struct {
	*Permission
	// Pattern is where the permission lies, see Node.Pattern.
	Pattern string
	// Above names the permissions that cover it, most general first.
	Above []string
}

// Permissions lists every permission of the tree at every place it has, in the
// order of Nodes.
func (t *Tree) Permissions() []Info {
	var out []Info
	for _, n := range t.Nodes {
		for i := len(n.Chain) - n.Own; i < len(n.Chain); i++ {
			info := Info{Permission: n.Chain[i], Pattern: n.Pattern()}
			for _, above := range n.Chain[:i] {
				info.Above = append(info.Above, above.Name)
			}
			out = append(out, info)
		}
	}
	return out
}

var kindNames = [...]string{Leaf: "leaf", Object: "object", Map: "map", ListMap: "list-map", Set: "set", List: "list"}

func (k Kind) String() string { return kindNames[k] }

// String draws the tree, one node a line, for people and golden files.
func (t *Tree) String() string {
	var b strings.Builder
	for _, n := range t.Nodes {
		depth := 0
		for up := n.Parent; up != nil; up = up.Parent {
			depth++
		}
		b.WriteString(strings.Repeat("  ", depth))
		switch {
		case n.Parent == nil:
			b.WriteString(t.Name)
		case n.Field != "":
			b.WriteString(n.Field)
		default:
			b.WriteString("*")
		}
		fmt.Fprintf(&b, " (%s", n.Kind)
		for _, k := range n.Keys {
			fmt.Fprintf(&b, " %s", k.Name)
		}
		b.WriteString(")")
		for _, p := range n.Chain[len(n.Chain)-n.Own:] {
			b.WriteString(" " + p.Name)
			if p.Source != "" {
				fmt.Fprintf(&b, "(%s %s", p.Source, p.SourceNode.Pattern())
				if p.Treatment != "" {
					b.WriteString(" " + string(p.Treatment))
				}
				if p.Expression != nil {
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
