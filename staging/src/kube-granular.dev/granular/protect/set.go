// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kube-granular.dev/granular/schema"
)

// Set has the entries in force. It is immutable. The nil Set has no entries.
type Set struct {
	cluster    *scope
	namespaces map[string]*scope
}

// scope has the entries of the cluster or of one namespace.
type scope struct {
	namespace string
	// keys has the entries in the order in which they are evaluated. The map is indexed by the
	// kind and key of an attribute or, for entries that protect a domain, by the kind and the
	// domain with its slash. all has the same entries in one list, without any order.
	keys map[attribute][]*Entry
	all  []*Entry
	// audits is set if some entry has the mode Audit.
	audits bool
	// allResources are the kinds of attributes of the entries without Resources, which apply to
	// all resources but their ExcludeResources. byResource has, for each resource, the kinds of
	// attributes of the entries with this resource in Resources. someResources is the union of the
	// kinds in byResource.
	allResources, someResources schema.Attribute
	byResource                  map[Resource]schema.Attribute
	// roles are the roles that some entry refers to.
	roles map[RoleRef]bool
}

type attribute struct {
	kind schema.Attribute
	key  string
}

// New returns the Set of some entries, which should be valid; see Entry.Problems. It leaves out
// entries for keys that the server itself sets; see Reserved.
func New(entries ...Entry) *Set {
	byNamespace := map[string][]Entry{}
	for _, e := range entries {
		byNamespace[e.Namespace] = append(byNamespace[e.Namespace], e)
	}
	out := &Set{namespaces: make(map[string]*scope, len(byNamespace))}
	for namespace, list := range byNamespace {
		out.put(namespace, newScope(namespace, list))
	}
	return out
}

// With returns a copy of the set in which these entries replace those of one namespace, or of the
// cluster if namespace is empty. The field Namespace of the entries is ignored.
func (s *Set) With(namespace string, entries ...Entry) *Set {
	out := &Set{}
	if s != nil {
		out.cluster, out.namespaces = s.cluster, maps.Clone(s.namespaces)
	}
	if out.namespaces == nil {
		out.namespaces = map[string]*scope{}
	}
	out.put(namespace, newScope(namespace, entries))
	return out
}

func (s *Set) put(namespace string, one *scope) {
	switch {
	case namespace == "":
		s.cluster = one
	case one == nil:
		delete(s.namespaces, namespace)
	default:
		s.namespaces[namespace] = one
	}
}

// newScope returns the scope of a namespace, or of the cluster if namespace is empty. It leaves
// out entries for reserved keys, and returns nil if there are no others.
func newScope(namespace string, entries []Entry) *scope {
	out := &scope{namespace: namespace, keys: map[attribute][]*Entry{}, byResource: map[Resource]schema.Attribute{}, roles: map[RoleRef]bool{}}
	for _, e := range entries {
		if Reserved(e.Kind, e.Key) {
			continue
		}
		e.Namespace = namespace
		e.ProtectedValues, e.AllowedValues = slices.Clone(e.ProtectedValues), slices.Clone(e.AllowedValues)
		e.Resources, e.ExcludeResources = canonical(e.Resources), canonical(e.ExcludeResources)
		k := attribute{e.Kind, e.Key}
		if e.isDomain() {
			k.key = strings.TrimSuffix(e.Key, "*")
		}
		out.keys[k] = append(out.keys[k], &e)
		out.all = append(out.all, &e)
		out.audits = out.audits || e.Mode == Audit
		if len(e.Resources) == 0 {
			out.allResources |= e.Kind
		} else {
			out.someResources |= e.Kind
		}
		for _, r := range e.Resources {
			out.byResource[r] |= e.Kind
		}
		if e.Role != (RoleRef{}) {
			out.roles[e.Role] = true
		}
	}
	if len(out.all) == 0 {
		return nil
	}
	for _, list := range out.keys {
		slices.SortStableFunc(list, inOrder)
	}
	return out
}

// inOrder compares entries by the order in which they are evaluated.
func inOrder(a, b *Entry) int {
	x, _ := a.reference("")
	y, _ := b.reference("")
	return cmp.Or(x.compare(y), strings.Compare(a.Name, b.Name))
}

func (e *Entry) isDomain() bool { return strings.HasSuffix(e.Key, "/*") }

// Active returns the kinds of attributes that some entry may protect in the objects of a target in
// a namespace. If Active returns 0, the old and the new object need not be compared. Active is
// cheap: it reads only what newScope computed, no single entry, and allocates nothing.
func (s *Set) Active(namespace string, t *Target) schema.Attribute {
	if s == nil {
		return 0
	}
	out := s.cluster.active(t)
	if namespace = t.namespace(namespace); namespace != "" {
		out |= s.namespaces[namespace].active(t)
	}
	return out & t.places
}

func (s *scope) active(t *Target) schema.Attribute {
	if s == nil {
		return 0
	}
	out := s.allResources | s.someResources&t.unknown
	if s.someResources&^out != 0 {
		for i := range t.resources {
			out |= s.byResource[t.resources[i].resource] & t.resources[i].kinds
		}
	}
	return out
}

// RefersTo reports whether an entry of a namespace, or of the cluster if the namespace is empty,
// refers to a role.
func (s *Set) RefersTo(namespace string, role RoleRef) bool {
	if s == nil {
		return false
	}
	one := s.cluster
	if namespace != "" {
		one = s.namespaces[namespace]
	}
	return one != nil && one.roles[role]
}

// applicable calls a function with the scope of the cluster, and then with the scope of the
// namespace. It leaves out a scope without entries, and stops when the function returns false.
func (s *Set) applicable(namespace string, visit func(*scope) bool) {
	if s == nil || s.cluster != nil && !visit(s.cluster) || namespace == "" {
		return
	}
	if one := s.namespaces[namespace]; one != nil {
		visit(one)
	}
}

// has reports whether an entry of the scope protects the key, or the domain of the key.
func (s *scope) has(kind schema.Attribute, key string) bool {
	if s == nil {
		return false
	}
	if len(s.keys[attribute{kind, key}]) > 0 {
		return true
	}
	keyDomain := domain(key)
	return keyDomain != "" && len(s.keys[attribute{kind, keyDomain}]) > 0
}
