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

// Ordinary returns the ordinary verbs that together include a permission verb on a resource,
// which is written as in a role: deployments/status. It returns nil where it is not known that
// they do.
func Ordinary(verb, group, resource string) []string {
	name, known := findPermission(verb, group, resource)
	if !known {
		return nil
	}
	if name == "metadata" {
		// A name is metadata, so with it single fields suffice to create.
		return []string{"update", "patch", "create"}
	}
	return []string{"update", "patch"}
}

// generalVerbs returns, for each place of a permission in a resource, the verbs of more general
// permissions that cover the place.
func generalVerbs(verb, group, resource string) [][]string {
	name, known := findPermission(verb, group, resource)
	if !known || name == "" {
		return nil
	}
	return builtIn()[key{group, resource}].generalVerbs[name]
}

// findPermission returns the permission of a verb, "" for the general verb. It reports false for what is
// included in nothing: what is no permission verb, excluded, or not of this resource.
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

// permissions are those of one resource that something may include.
type permissions struct {
	// generalVerbs has the verbs of more general permissions, for each place.
	generalVerbs map[string][][]string
	// parameterized are those whose verbs take a parameter, excluded those that are excluded
	// somewhere in the resource, in some version.
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

// add notes the places of a permission in a kind.
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
			// Another place may have been noted: what is excluded anywhere is included nowhere.
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

// splitResource takes deployments.apps/scale apart, into a group and deployments/scale.
func splitResource(name string) key {
	name, sub, has := strings.Cut(name, "/")
	resource, group, _ := strings.Cut(name, ".")
	if has {
		resource += "/" + sub
	}
	return key{group, resource}
}
