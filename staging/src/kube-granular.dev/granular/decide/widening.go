// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Widening is a field that one tree excludes, and that more callers may change under another tree.
type Widening struct {
	// Way leads from the root to the field.
	Way []schema.Step
	// Verb is a verb that suffices under the other tree only. It is empty if the other tree does not
	// exclude the field.
	Verb string
}

// Expression returns the text of the expression that makes the parameter of a permission. way leads
// to the field that carries the permission.
type Expression func(way []schema.Step) string

// Widenings returns the widenings from the tree old to the tree updated, at most one for each field.
// There is none if every caller that may change an excluded field under updated may do so under old.
func Widenings(old, updated *schema.Tree, oldText, updatedText Expression) []Widening {
	before, after := coverageOf(old, oldText), coverageOf(updated, updatedText)
	var out []Widening
	seen := map[string]bool{}
	add := func(path schema.NodePath, oldNode, updatedNode *schema.Node) {
		pattern := path.Pattern()
		if verb, wider := widened(before.of(oldNode), after.of(updatedNode)); wider && !seen[pattern] {
			seen[pattern] = true
			out = append(out, Widening{Way: path.Steps(), Verb: verb})
		}
	}
	for place := range old.NodePaths() {
		if n := place.Node(); n.ExcludedAt {
			add(place, n, updated.Nearest(place.Steps()))
		}
	}
	for place := range updated.NodePaths() {
		if n := old.Nearest(place.Steps()); n.ExcludedAt {
			add(place, n, place.Node())
		}
	}
	return out
}

// widened reports whether a permission of updated suffices that does not suffice before, or
// whether updated needs none.
func widened(old, updated cover) (verb string, wider bool) {
	if !updated.excluded {
		return "", true
	}
	for _, key := range slices.Sorted(maps.Keys(updated.keys)) {
		if !old.keys[key] {
			verb, _, _ := strings.Cut(key, " ")
			return verb, true
		}
	}
	return "", false
}

// coverage has a key for each permission of a tree. The key begins with the verb. Two permissions of
// two trees have the same key if a grant of one is a grant of the other. The name of a parameter
// source does not matter.
type coverage map[*schema.Permission]string

func coverageOf(tree *schema.Tree, text Expression) coverage {
	out := coverage{}
	for place := range tree.NodePaths() {
		for _, p := range place.Node().Own() {
			key := permission.Verb{Permission: p.Name}.String()
			if parameter := p.Parameter; parameter != nil {
				key = fmt.Sprintf("%s(…) %d %d %v %q %q", key, parameter.SourceDepth, parameter.SourceKey, parameter.FromValue,
					parameter.Field, parameter.Treatment)
				if parameter.Expression != nil {
					key += " " + text(place.Steps())
				}
			}
			out[p] = key
		}
	}
	return out
}

// cover is what suffices to change one field.
type cover struct {
	keys     map[string]bool
	excluded bool
}

func (c coverage) of(n *schema.Node) cover {
	candidates, excluded := Candidates(n)
	out := cover{keys: map[string]bool{}, excluded: excluded}
	for _, p := range candidates {
		out.keys[c[p]] = true
	}
	return out
}
