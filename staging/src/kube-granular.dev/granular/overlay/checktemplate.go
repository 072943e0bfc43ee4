// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"slices"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// CheckInForce returns the problems for which written must be refused, because entries of pods and of a
// resource with a pod template hold together: written is one of own and pods, which are as for InForce.
// definitions and kind are those of the resource. It is in addition to Check. What is Unread in the stored one has no part in
// it.
func CheckInForce(
	definitions map[string]*spec.Schema, kind gvkschema.GroupVersionKind, resource gvkschema.GroupResource, own, pods, written *Entries,
) []Problem {
	own, pods = own.Known(), pods.Known()
	held := inTemplate(resource, pods)
	if held == nil {
		return nil
	}
	c := checker{entries: InForce(resource, own, pods), kind: kind, resource: resource}
	first := len(c.entries.Fields) - len(held.Fields) // of pods
	for i := first; i < len(c.entries.Fields); i++ {
		c.embedded(i, first)
	}
	if c.problems == nil {
		c.inOneTree(definitions)
	}
	var out []Problem
	for _, p := range c.problems {
		p.Message = fmt.Sprintf("in %s: %s", resource, p.Message)
		if p.Index = indexIn(p.Index, first, resource, pods, written); p.Index < 0 {
			p.Part = ""
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// embedded checks one entry of pods in a pod template. The entries before first are of the resource itself.
func (c *checker) embedded(i, first int) {
	f := &c.entries.Fields[i]
	if f.Named == nil && c.closes(f) {
		c.builtin(i, f)
	}
	for j := range first {
		if other := &c.entries.Fields[j]; other.Permission == f.Permission && other.Excluded != f.Excluded {
			c.report(i, ExcludedPart, "another entry has the same permission, and only one of the two is excluded")
			c.report(j, ExcludedPart, "another entry has the same permission, and only one of the two is excluded")
		}
	}
}

// inOneTree checks that the kind has a permission tree with all entries in it.
func (c *checker) inOneTree(definitions map[string]*spec.Schema) {
	before, err := schema.ByKind(definitions, c.kind)
	if err != nil {
		c.report(-1, "", "the permissions of the kind can't be compiled: %v", err)
		return
	}
	if c.names(before); c.problems == nil {
		c.compile(definitions, true)
	}
}

// indexIn returns the index in written of the entry with an index in InForce, -1 if that is not one of
// written.
func indexIn(i, first int, resource gvkschema.GroupResource, pods, written *Entries) int {
	if written != pods {
		if i >= first {
			return -1
		}
		return i
	}
	if i < first {
		return -1
	}
	for j := range pods.Fields {
		one := *pods
		one.Fields = pods.Fields[j : j+1]
		if inTemplate(resource, &one) == nil {
			continue
		}
		if i == first {
			return j
		}
		i--
	}
	return -1
}

// Shared returns the fields of a resource that both own and pods exclude, each by another permission. A
// caller needs both. The arguments are as for InForce.
func Shared(resource gvkschema.GroupResource, own, pods *Entries) (out []Path) {
	own, held := own.Known(), inTemplate(resource, pods.Known())
	if own == nil || held == nil {
		return nil
	}
	for _, f := range own.Fields {
		for _, g := range held.Fields {
			if !f.Excluded || !g.Excluded || f.Permission == g.Permission || !overlap(f.Path, g.Path) {
				continue
			}
			inner := f.Path
			if len(g.Path) > len(inner) {
				inner = g.Path
			}
			if !slices.ContainsFunc(out, func(p Path) bool { return slices.Equal(p, inner) }) {
				out = append(out, inner)
			}
		}
	}
	return out
}
