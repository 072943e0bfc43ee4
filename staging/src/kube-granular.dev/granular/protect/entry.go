// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"cmp"
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Mode is what an entry does with a change that it does not admit.
type Mode string

const (
	// Enforce refuses the change. So does every other mode except Audit.
	Enforce Mode = "Enforce"
	// Audit only reports the change.
	Audit Mode = "Audit"
)

// The kinds of a Reference. An Entry without a role refers to a verb.
const (
	ClusterRole = "ClusterRole"
	Role        = "Role"
	Verb        = "Verb"
)

// RoleRef names a role. The zero RoleRef means that the caller must hold the verb for the key.
type RoleRef struct {
	// Kind is ClusterRole or Role.
	Kind, Name string
}

// Resource is a resource of an API group, without its version.
type Resource struct{ Group, Resource string }

// otherGroup maps each resource whose objects are also served in another group to that resource.
var otherGroup = map[Resource]Resource{
	{"events.k8s.io", "events"}: {"", "events"},
}

// Canonical returns the resource that stands for r. It differs from r if the same objects are
// served in two groups, as events are. A filter that names either of the two selects both.
func (r Resource) Canonical() Resource {
	if same, ok := otherGroup[r]; ok {
		return same
	}
	return r
}

// Others returns the other resources in which the same objects are served.
func (r Resource) Others() []Resource {
	var out []Resource
	for other, same := range otherGroup {
		if same == r {
			out = append(out, other)
		}
	}
	return out
}

// canonical returns a copy of the resources in which each is replaced by its Canonical.
func canonical(resources []Resource) []Resource {
	out := slices.Clone(resources)
	for i, r := range out {
		out[i] = r.Canonical()
	}
	return out
}

// Entry is one protected attribute.
type Entry struct {
	// Name is the name of the API object that the entry was made from. A Finding lists this name.
	Name string
	// Namespace is the namespace that the entry applies to, empty for the whole cluster.
	Namespace string
	// Kind is Label or Annotation.
	Kind schema.Attribute
	// Key is a full key, or a domain such as example.com/*.
	Key string
	// ProtectedValues, if there are any, are the only values that the entry protects.
	// AllowedValues, if there are any, are the only values to which the entry admits callers: the
	// entry protects all other values too, and admits nobody to them. Only one of the two lists
	// may have values. If both are empty, the entry protects every value, and admits callers who
	// hold its role or verb to every value.
	ProtectedValues, AllowedValues []string
	Role                           RoleRef
	Mode                           Mode
	// Resources are the resources that the entry applies to; an empty list means all resources.
	// ExcludeResources are resources that it does not apply to. Both are compared with the
	// resources that an attribute ends up in: the object's own, and those that controllers copy
	// the attribute to. See Table. A resource that is served in two groups counts as one; see
	// Resource.Canonical.
	Resources, ExcludeResources []Resource
}

// Reference is a role or a verb that a caller must hold so that an entry admits the caller.
// References are comparable.
type Reference struct {
	// Kind is ClusterRole, Role or Verb.
	Kind string
	// Namespace is the namespace of the entry that refers to a role. If it is empty, only cluster
	// role bindings count. If not, role bindings in this namespace count too.
	Namespace string
	// Name is the name of the role, or the verb that an authorizer is asked for.
	Name string
}

func (r Reference) compare(o Reference) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.Namespace, o.Namespace), strings.Compare(r.Name, o.Name))
}

// VerbOf returns the verb that a caller must hold for a label or annotation with the key, if the
// entry has no role. It returns false if the key is too long to be the parameter of a verb.
func VerbOf(kind schema.Attribute, key string) (verb string, ok bool) {
	if permission.CheckParameter(key) != nil {
		return "", false
	}
	v := permission.Verb{Permission: permission.ProtectedLabel, Parameter: key, Parameterized: true}
	if kind == schema.Annotation {
		v.Permission = permission.ProtectedAnnotation
	}
	return v.String(), true
}

// reference returns the role or verb that a caller must hold so that the entry admits the caller
// for a key. It returns false if the key is too long for a verb; the entry then admits nobody.
func (e *Entry) reference(key string) (r Reference, ok bool) {
	if e.Role == (RoleRef{}) {
		verb, ok := VerbOf(e.Kind, key)
		return Reference{Kind: Verb, Name: verb}, ok
	}
	return Reference{Kind: e.Role.Kind, Namespace: e.Namespace, Name: e.Role.Name}, true
}

// protects reports whether the entry protects a value. An unreadable value counts as protected,
// because it may stand for any value.
func (e *Entry) protects(unreadable bool, value string) bool {
	return unreadable || len(e.AllowedValues) > 0 || len(e.ProtectedValues) == 0 || slices.Contains(e.ProtectedValues, value)
}

// admits reports whether the entry admits any caller to a value.
func (e *Entry) admits(unreadable bool, value string) bool {
	values := e.AllowedValues
	if len(values) == 0 {
		values = e.ProtectedValues
	}
	return len(values) == 0 || !unreadable && slices.Contains(values, value)
}

// AppliesTo reports whether the filter of the entry selects at least one of the resources that an
// attribute ends up in. known is false if these resources are not known; the entry then applies.
func (e *Entry) AppliesTo(out []Resource, known bool) bool {
	if !known || len(e.Resources) == 0 && len(e.ExcludeResources) == 0 {
		return true
	}
	for _, r := range out {
		if (len(e.Resources) == 0 || slices.Contains(e.Resources, r)) && !slices.Contains(e.ExcludeResources, r) {
			return true
		}
	}
	return false
}

// domain returns the part of a key up to and including the first slash, or "" if the key has no
// slash.
func domain(key string) string { return key[:strings.IndexByte(key, '/')+1] }
