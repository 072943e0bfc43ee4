// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"slices"
	"strings"
	"sync"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
)

// MetadataVerb is the verb that allows reading the metadata of objects without their data. It is no
// permission verb, because it allows no write.
const MetadataVerb = "readmetadata"

// Ordinary returns the ordinary verbs that together include a permission verb on a resource: who
// holds all of them can make every change that the permission verb allows. resource has the form
// that roles use, such as deployments/status. Ordinary returns nil if no ordinary verbs are known
// to include the permission verb. The verb "readmetadata", which is no permission verb, is included
// in the verbs that read whole objects, on each resource.
func Ordinary(verb, group, resource string) []string {
	if verb == MetadataVerb {
		return []string{"get", "list", "watch"}
	}
	v, known := findPermission(verb, group, resource)
	if !known {
		return nil
	}
	if v.Permission == "metadata" {
		// The permission metadata also covers the name of an object. So a holder of the permission
		// can create objects, if other permissions allow their other fields.
		return []string{"update", "patch", "create"}
	}
	return []string{"update", "patch"}
}

// Includes reports whether the verbs for which held returns true include a permission verb on a resource: all
// ordinary verbs do, or for each field of the permission a verb that covers more. It asks for each verb at
// most once, and returns false if no verbs are known to include the permission verb.
func Includes(verb, group, resource string, held func(verb string) bool) bool {
	answers := map[string]bool{}
	holds := func(verb string) bool {
		answer, known := answers[verb]
		if !known {
			answer = held(verb)
			answers[verb] = answer
		}
		return answer
	}
	lacks := func(verb string) bool { return !holds(verb) }
	if ordinary := Ordinary(verb, group, resource); len(ordinary) > 0 && !slices.ContainsFunc(ordinary, lacks) {
		return true
	}
	places := generalVerbs(verb, group, resource)
	uncovered := func(above []string) bool { return !slices.ContainsFunc(above, holds) }
	return len(places) > 0 && !slices.ContainsFunc(places, uncovered)
}

// generalVerbs returns one list for each field that the permission of a verb covers in a resource.
// The list has the verbs that cover the field and more: those of the more general permissions, and
// for the verb of one key that of its domain. Holding one of these verbs is enough for that field.
func generalVerbs(verb, group, resource string) [][]string {
	v, known := findPermission(verb, group, resource)
	if !known || v.Permission == "" {
		return nil
	}
	permissions := builtIn()[key{group, resource}]
	var out [][]string
	for _, above := range permissions.general[v.Permission] {
		var verbs []string
		for _, wider := range above {
			if wider.Parameterized {
				wider.Parameter = v.Parameter
			}
			verbs = append(verbs, wider.String())
		}
		treatment := permissions.treatments[v.Permission]
		if one, exact := treatment.Key(v.Parameter); exact {
			v := v
			v.Parameter = treatment.Apply(one)
			verbs = append(verbs, v.String())
		}
		out = append(out, verbs)
	}
	return out
}

// findPermission returns a verb, parsed. It returns false if no other verbs can include the verb.
// That is so if the verb is no permission verb or not valid, if the permission is excluded, or if
// the resource does not have the permission.
func findPermission(verb, group, resource string) (permission.Verb, bool) {
	if !permission.IsVerb(verb) {
		return permission.Verb{}, false
	}
	parsed, err := permission.Parse(verb)
	if err != nil || permission.Reserved(parsed.Permission) {
		return permission.Verb{}, false
	}
	p, known := builtIn()[key{group, resource}]
	if !known || parsed.Permission == "" {
		return parsed, known
	}
	_, parameterized := p.treatments[parsed.Permission]
	return parsed, len(p.general[parsed.Permission]) > 0 && parameterized == parsed.Parameterized
}

type key struct{ group, resource string }

// permissions are the permissions of one resource.
type permissions struct {
	// general has for each permission, by its name, one list for each of its fields: the verbs of the
	// more general permissions. Such a verb is Parameterized, and lacks the parameter, if it always
	// has the same one as the permission.
	general map[string][][]permission.Verb
	// treatments has the permissions whose verbs have a parameter.
	treatments map[string]permission.Treatment
	// excluded has the permissions that are excluded in at least one version of the resource.
	excluded map[string]bool
}

var builtIn = sync.OnceValue(func() map[key]permissions {
	all, err := registry.Load()
	if err != nil {
		return nil
	}
	return index(all)
})

func index(all *registry.Registry) map[key]permissions {
	out := map[key]permissions{}
	byName := map[string]*registry.Permission{}
	for i := range all.Permissions {
		byName[all.Permissions[i].Name] = &all.Permissions[i]
	}
	for _, kind := range all.Kinds {
		for _, name := range kind.Resources {
			k := splitResource(name)
			if _, found := out[k]; !found {
				out[k] = permissions{general: map[string][][]permission.Verb{}, treatments: map[string]permission.Treatment{},
					excluded: map[string]bool{}}
			}
			for _, p := range byName {
				out[k].add(p, kind.Kind, byName)
			}
		}
	}
	return out
}

// add adds to general the fields that the permission p covers in a kind. byName has all
// permissions of the registry.
func (own permissions) add(p *registry.Permission, kind string, byName map[string]*registry.Permission) {
	excluded := func(name string) bool { return byName[name] == nil || byName[name].Excluded }
	if own.excluded[p.Name] {
		return
	}
	for _, place := range p.Places {
		if !slices.Contains(place.Kinds, registry.All) && !slices.Contains(place.Kinds, kind) {
			continue
		}
		if p.Excluded || slices.ContainsFunc(place.Above, excluded) {
			// A permission that is excluded for one field is included in nothing. So the fields
			// that earlier calls may have added for this permission are removed.
			own.general[p.Name], own.excluded[p.Name] = nil, true
			return
		}
		var verbs []permission.Verb
		for _, name := range place.Above {
			if wider := byName[name]; wider.Parameter == nil || share(wider.Parameter, p.Parameter) {
				verbs = append(verbs, permission.Verb{Permission: name, Parameterized: wider.Parameter != nil})
			}
		}
		own.general[p.Name] = append(own.general[p.Name], verbs)
		if p.Parameter != nil {
			own.treatments[p.Name] = permission.Treatment(p.Parameter.Treatment)
		}
	}
}

// share reports whether two permissions of one chain always have the same parameter: the name of one
// element.
func share(a, b *registry.Parameter) bool {
	if b == nil {
		return false
	}
	_, value := schema.SelfField(a.Source)
	return !value && *a == *b
}

// splitResource splits deployments.apps/scale into the group and deployments/scale.
func splitResource(name string) key {
	name, sub, found := strings.Cut(name, "/")
	resource, group, _ := strings.Cut(name, ".")
	if found {
		resource += "/" + sub
	}
	return key{group, resource}
}
