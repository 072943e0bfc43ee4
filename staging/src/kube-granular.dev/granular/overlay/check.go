// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"slices"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
)

// Bounds of the entries of one FieldPermission. They leave room in the bounds of a tree for what the
// author of a schema adds later.
const (
	// MaxFields is the highest number of entries.
	MaxFields = 64
	// MaxNested is the highest number of entries on one path.
	MaxNested = 3
)

// Part is the part of an entry that is at fault.
type Part string

// The fields of an entry in the API.
const (
	PathPart       Part = "path"
	PermissionPart Part = "permission"
	ExcludedPart   Part = "excluded"
)

// Problem is a reason why a FieldPermission must be refused.
type Problem struct {
	// Index is the index of the entry, -1 if the problem is of all entries together.
	Index int
	// Part is "" if Index is -1.
	Part Part
	// Message is a part of a sentence. It contains no text of the object other than names of
	// permissions.
	Message string
}

// Check returns the problems for which the entries of a kind must be refused when they are written.
// definitions are those of one version of the kind; a server calls Check for each version that it
// serves. Exclusions are checked in both modes, because the mode can change later.
func Check(definitions map[string]*spec.Schema, kind gvkschema.GroupVersionKind, e *Entries) []Problem {
	c := checker{entries: e, kind: kind, resource: gvkschema.ParseGroupResource(e.Source)}
	if len(e.Fields) > MaxFields {
		return []Problem{{Index: -1, Message: fmt.Sprintf("more than %d entries", MaxFields)}}
	}
	for i := range e.Fields {
		c.one(i, &e.Fields[i])
	}
	if c.problems == nil {
		c.schema(definitions)
	}
	return c.problems
}

type checker struct {
	entries *Entries
	kind    gvkschema.GroupVersionKind
	// resource is that of the kind.
	resource gvkschema.GroupResource
	problems []Problem
}

func (c *checker) report(index int, part Part, format string, args ...any) {
	c.problems = append(c.problems, Problem{Index: index, Part: part, Message: fmt.Sprintf(format, args...)})
}

// one checks what does not depend on the schema of the kind.
func (c *checker) one(i int, f *Field) {
	c.permission(i, f)
	if reason := refusedPath(f.Path); reason != "" {
		c.report(i, PathPart, "%s", reason)
	}
	switch reason := notExcludable(c.resource); {
	case !c.closes(f):
	case reason != "":
		c.report(i, ExcludedPart, "no exclusion is possible here: %s", reason)
	case isBuiltin(c.kind.Group) && len(f.Path) > 0:
		c.builtin(i, f)
	}
	nested := 0
	for j := range c.entries.Fields {
		other := &c.entries.Fields[j]
		switch {
		case j == i:
		case slices.Equal(other.Path, f.Path):
			if j < i {
				c.report(i, PathPart, "another entry has the same path")
			}
		case f.Path.inside(other.Path):
			nested++
		}
		if j < i && other.Permission == f.Permission && other.Excluded != f.Excluded {
			c.report(i, ExcludedPart, "another entry has the same permission, and only one of the two is excluded")
		}
	}
	if nested >= MaxNested {
		c.report(i, PathPart, "inside more than %d other entries", MaxNested-1)
	}
}

// permission checks the name of a permission. A name without a domain can be that of a permission
// that others were granted before, or grant to themselves because update includes it.
func (c *checker) permission(i int, f *Field) {
	if err := permission.Validate(f.Permission); err != nil {
		c.report(i, PermissionPart, "%s", strings.TrimPrefix(err.Error(), "permission: "))
		return
	}
	if !strings.Contains(f.Permission, "/") {
		c.report(i, PermissionPart, "must have a domain, such as example.com/%s", f.Permission)
		return
	}
	known, err := registry.Lookup(f.Permission)
	if err != nil || known != nil || permission.Reserved(f.Permission) {
		c.report(i, PermissionPart, "a built-in kind has a permission with this name")
	}
}

// schema checks the entries against the schema of the kind.
func (c *checker) schema(definitions map[string]*spec.Schema) {
	before, err := schema.ByKind(definitions, c.kind)
	if err != nil {
		c.report(-1, "", "the permissions of the kind can't be compiled: %v", err)
		return
	}
	models := schema.NewModels(definitions)
	name, err := models.Definition(c.kind)
	if err != nil {
		c.report(-1, "", "%v", err)
		return
	}
	root := models.Cursor(name)
	for i := range c.entries.Fields {
		c.place(i, root)
	}
	if c.problems != nil {
		return
	}
	c.names(before)
	for _, enforced := range []bool{false, true} {
		c.compile(definitions, enforced)
	}
}

// place checks the place of one entry.
func (c *checker) place(i int, root schema.Cursor) {
	f := &c.entries.Fields[i]
	r := resolve(root, f.Path)
	switch {
	case r.reason == FieldAbsent:
		c.report(i, PathPart, "version %s has no such field; it has %s", c.kind.Version, orRoot(f.Path[:r.reached]))
	case r.reason != "":
		c.report(i, PathPart, "the path can't go on after %s in version %s, because that field has another type: [*] is for lists and maps, a name for objects",
			orRoot(f.Path[:r.reached]), c.kind.Version)
	case r.excludedAt:
		c.report(i, PathPart, "the author of the kind excludes this field already; a second verb would open it")
	case f.Excluded && r.atomic >= 0:
		c.report(i, ExcludedPart, "elements of the list %s have no identity, so only the list as a whole can be excluded", orRoot(f.Path[:r.atomic]))
	case f.Excluded && authorExcludesBelow(root, f.Path):
		c.report(i, ExcludedPart, "the author of the kind excludes a field inside; the verb of this entry would open it")
	}
}

func orRoot(path Path) string {
	if len(path) == 0 {
		return "the root"
	}
	return path.String()
}

// authorExcludesBelow reports whether the schema declares an excluded permission inside the field at
// a path that the schema has.
func authorExcludesBelow(root schema.Cursor, path Path) bool {
	c := root
	for _, step := range path {
		switch {
		case !step.Every:
			c = c.Field(step.Name)
		case c.Elem().Known():
			c = c.Elem()
		default:
			c = c.Values()
		}
	}
	return excludesBelow(c, nil)
}

func excludesBelow(c schema.Cursor, entered []string) bool {
	if !c.Known() {
		return false
	}
	if name := c.Definition(); name != "" {
		if slices.Contains(entered, name) {
			return false
		}
		entered = append(entered, name)
	}
	below := []schema.Cursor{c.Elem(), c.Values()}
	for _, name := range c.Names() {
		below = append(below, c.Field(name))
	}
	return slices.ContainsFunc(below, func(b schema.Cursor) bool {
		return b.Known() && (b.Excludes() || excludesBelow(b, entered))
	})
}

// names checks that no permission of an entry, with and without the prefix of a scope, is a
// permission of the kind.
func (c *checker) names(before *schema.Tree) {
	taken, scopes := map[string]bool{}, map[string]bool{"": true}
	for place := range before.NodePaths() {
		n := place.Node()
		for _, p := range n.Own() {
			taken[p.Name] = true
		}
		scopes[n.Scope()] = true
	}
	scoped := map[string]string{}
	for i := range c.entries.Fields {
		for scope := range scopes {
			name := permission.Scoped(scope, c.entries.Fields[i].Permission)
			if taken[name] {
				c.report(i, PermissionPart, "the kind has a permission %s in version %s", name, c.kind.Version)
				break
			}
			if other, met := scoped[name]; met && other != c.entries.Fields[i].Permission {
				c.report(i, PermissionPart, "inside a scope the name is the same as that of another entry")
				break
			}
			scoped[name] = c.entries.Fields[i].Permission
		}
	}
}

// compile checks that the kind has a permission tree with all entries in it.
func (c *checker) compile(definitions map[string]*spec.Schema, enforced bool) {
	entries := *c.entries
	entries.Enforced = entries.Enforced && enforced
	changed, outcomes, err := Apply(definitions, c.kind, &entries, enforced)
	if err != nil {
		c.report(-1, "", "%v", err)
		return
	}
	tree, err := schema.ByKind(changed, c.kind)
	if err != nil {
		for _, p := range schema.ProblemsOf(err) {
			c.report(-1, "", "the entries can't be enforced: %s", p.Error())
		}
		return
	}
	for i := range outcomes {
		f := &c.entries.Fields[i]
		if !carries(tree, f, f.Path, outcomes[i].Excluded) {
			c.report(i, PathPart, "no permission is possible at this field in version %s", c.kind.Version)
		}
	}
}
