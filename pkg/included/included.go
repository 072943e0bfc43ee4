// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"slices"
	"strings"
	"sync"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
)

// Ordinary returns the ordinary verbs that together include a permission verb on a resource: who
// holds all of them can make every change that the permission verb allows. resource has the form
// that roles use, such as deployments/status. Ordinary returns nil if no ordinary verbs are known
// to include the permission verb.
func Ordinary(verb, group, resource string) []string {
	name, known := findPermission(verb, group, resource)
	if !known {
		return nil
	}
	if name == "metadata" {
		// The permission metadata also covers the name of an object. So a holder of the permission
		// can create objects, if other permissions allow their other fields.
		return []string{"update", "patch", "create"}
	}
	return []string{"update", "patch"}
}

// generalVerbs returns one list for each field that the permission of a verb covers in a resource.
// The list has the verbs of the more general permissions that cover the field too. Holding one of
// these verbs is enough for that field.
func generalVerbs(verb, group, resource string) [][]string {
	name, known := findPermission(verb, group, resource)
	if !known || name == "" {
		return nil
	}
	return builtIn()[key{group, resource}].generalVerbs[name]
}

// findPermission returns the name of the permission of a verb, such as image for granular:image.
// For the verb granular, the name is "". It returns false if no other verbs can include the verb.
// That is so if the verb is no permission verb or not valid, if the permission is excluded, or if
// the resource does not have the permission.
func findPermission(verb, group, resource string) (string, bool) {
	if verb != permission.General && !strings.HasPrefix(verb, permission.General+":") {
		return "", false
	}
	parsed, err := permission.Parse(verb)
	if err != nil || permission.Reserved(parsed.Permission) {
		return "", false
	}
	of, known := builtIn()[key{group, resource}]
	if !known || parsed.Permission == "" {
		return "", known
	}
	return parsed.Permission, len(of.generalVerbs[parsed.Permission]) > 0 && of.parameterized[parsed.Permission] == parsed.Parameterized
}

type key struct{ group, resource string }

// permissions are the permissions of one resource.
type permissions struct {
	// generalVerbs has the result of the function generalVerbs for each permission, by its name:
	// for each field of the permission, the verbs of the more general permissions.
	generalVerbs map[string][][]string
	// parameterized has the permissions whose verbs have a parameter. excluded has the
	// permissions that are excluded in at least one version of the resource.
	parameterized, excluded map[string]bool
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
			if _, has := out[k]; !has {
				out[k] = permissions{generalVerbs: map[string][][]string{}, parameterized: map[string]bool{}, excluded: map[string]bool{}}
			}
			for _, p := range byName {
				out[k].add(p, kind.Kind, byName)
			}
		}
	}
	return out
}

// add adds to generalVerbs the fields that the permission p covers in a kind. byName has all
// permissions of the registry.
func (of permissions) add(p *registry.Permission, kind string, byName map[string]*registry.Permission) {
	excluded := func(name string) bool { return byName[name] == nil || byName[name].Excluded }
	if of.excluded[p.Name] {
		return
	}
	for _, place := range p.Places {
		if !slices.Contains(place.Kinds, registry.All) && !slices.Contains(place.Kinds, kind) {
			continue
		}
		if p.Excluded || slices.ContainsFunc(place.Above, excluded) {
			// A permission that is excluded for one field is included in nothing. So the fields
			// that earlier calls may have added for this permission are removed.
			of.generalVerbs[p.Name], of.excluded[p.Name] = nil, true
			return
		}
		var verbs []string
		for _, name := range place.Above {
			if byName[name].Parameter == nil {
				verbs = append(verbs, permission.Verb{Permission: name}.String())
			}
		}
		of.generalVerbs[p.Name] = append(of.generalVerbs[p.Name], verbs)
		of.parameterized[p.Name] = p.Parameter != nil
	}
}

// splitResource splits deployments.apps/scale into the group and deployments/scale.
func splitResource(name string) key {
	name, sub, has := strings.Cut(name, "/")
	resource, group, _ := strings.Cut(name, ".")
	if has {
		resource += "/" + sub
	}
	return key{group, resource}
}
