// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// builtinText has, for each version of each built-in resource whose exclusions hold, what the server
// itself does to fields. A test of package test/exclusions writes it from the server's own code.
//
//go:embed builtin.json
var builtinText []byte

// serverEffects are what the server itself does to the fields of a resource in one version. The paths
// are spelled as those of entries.
type serverEffects struct {
	// Filled are fields that the server sets if the client does not send them, and that an empty
	// object does not have. A create without such a field would be refused.
	Filled []string `json:"filled,omitempty"`
	// Lost are fields that the server never stores as they are sent.
	Lost []string `json:"lost,omitempty"`
	// Moved has fields that the server sets because of what the client sends for other fields. The
	// values are the paths of these other fields.
	Moved map[string][]string `json:"moved,omitempty"`
}

// builtinEffects returns the effects for each resource and version, such as "deployments.apps/v1".
var builtinEffects = sync.OnceValue(func() map[string]*serverEffects {
	var out map[string]*serverEffects
	if json.Unmarshal(builtinText, &out) != nil {
		return nil // then no built-in kind takes exclusions
	}
	return out
})

// builtin checks whether an exclusion of a field of a built-in kind holds on every way to write it.
func (c *checker) builtin(i int, f *Field) {
	resource := c.resource
	effects := builtinEffects()[resource.String()+"/"+c.kind.Version]
	switch {
	case effects == nil:
		c.report(i, ExcludedPart, "no exclusion is possible here: exclusions of %s are not enforced in version %s", resource, c.kind.Version)
		return
	case f.Path[0].Name == "status":
		c.report(i, ExcludedPart, "no exclusion is possible here: controllers, kubelets and the server itself write the status")
		return
	}
	if reason := obstacle(resource, effects, f.Path); reason != "" {
		c.report(i, ExcludedPart, "no exclusion is possible here: %s", reason)
		return
	}
	c.aliases(i, f, resource, effects)
}

// obstacle returns why a field takes no exclusion, whatever else is excluded, or "".
func obstacle(resource gvkschema.GroupResource, effects *serverEffects, path Path) string {
	for _, text := range effects.Lost {
		if lost := tablePath(text); path.inside(lost) {
			return fmt.Sprintf("the server does not store %s as it is sent", lost)
		}
	}
	for _, text := range effects.Filled {
		if filled := tablePath(text); path.inside(filled) {
			return fmt.Sprintf("the server sets %s if a client does not send it", filled)
		}
	}
	for _, closed := range closedIn(resource) {
		if !closed.takes(path) {
			if closed.holder != "" {
				return closed.reason + "; exclude " + closed.holder + " as a whole"
			}
			return closed.reason
		}
	}
	return ""
}

// aliases checks that whoever may change a field is everybody who may change the fields because of
// which the server sets it.
func (c *checker) aliases(i int, f *Field, resource gvkschema.GroupResource, effects *serverEffects) {
	missing := ""
	for _, moved := range []map[string][]string{effects.Moved, aliases[resource.String()]} {
		for _, text := range slices.Sorted(maps.Keys(moved)) {
			target := tablePath(text)
			if !overlap(target, f.Path) {
				continue
			}
			for _, source := range moved[text] {
				path := tablePath(source)
				switch {
				case c.together(target, path, f.Permission):
				case obstacle(resource, effects, path) != "":
					c.report(i, ExcludedPart, "no exclusion is possible here: the server also sets %s because of %s, which takes none", target, source)
					return
				case missing == "":
					missing = fmt.Sprintf("the server also sets %s because of %s: exclude %s with the same permission", target, source, source)
				}
			}
		}
	}
	if missing != "" {
		c.report(i, ExcludedPart, "%s", missing)
	}
}

// together reports whether an exclusion with a permission closes source, and no other permission
// opens source without opening target too.
func (c *checker) together(target, source Path, permission string) bool {
	closed := false
	for i := range c.entries.Fields {
		f := &c.entries.Fields[i]
		switch {
		case f.Permission == permission:
			closed = closed || c.closes(f) && source.inside(f.Path)
		case c.closes(f) && overlap(f.Path, source) && !target.inside(f.Path):
			return false
		}
	}
	return closed
}

// closes reports whether an entry is an exclusion, or inside one, which makes it one.
func (c *checker) closes(f *Field) bool {
	return f.Excluded || slices.ContainsFunc(c.entries.Fields, func(around Field) bool {
		return around.Excluded && around.Origin == f.Origin && len(around.Path) < len(f.Path) && f.Path.inside(around.Path)
	})
}

// overlap reports whether one of two fields is the other or inside the other.
func overlap(a, b Path) bool { return a.inside(b) || b.inside(a) }

// tablePath returns a path of the tables. A path that can't be parsed is the root, which closes all fields;
// TestBuiltinTables parses each.
func tablePath(text string) Path {
	path, err := ParsePath(text)
	if err != nil {
		return nil
	}
	return path
}
