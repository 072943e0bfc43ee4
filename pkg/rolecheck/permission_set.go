// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/pkg/suggest"
)

// permissionSet has the permissions that the resources of a rule may have.
type permissionSet struct {
	byResource []map[string]*registry.Permission
	// complete is false if at least one of the resources is not built in. Such a resource can have
	// permissions with a domain in their names, which are not known here, and every permission of
	// Kubernetes.
	complete bool
}

func (n permissionSet) find(name string) *registry.Permission {
	for _, permissions := range n.byResource {
		if p := permissions[name]; p != nil {
			return p
		}
	}
	return nil
}

// onEveryKind reports whether every kind has the permission, because it covers a field that all
// objects have, such as labels.
func onEveryKind(p *registry.Permission) bool {
	return slices.ContainsFunc(p.Places, func(place registry.Place) bool { return slices.Contains(place.Kinds, registry.All) })
}

// maxSuggestionLength is the maximum length of a misspelled name. For a longer name, suggestion
// does not search a similar one.
const maxSuggestionLength = 100

// suggestion returns text to append to a message about a misspelled verb: "did you mean" and the
// most similar verb that is known. It returns "" if no known verb is similar.
func (n permissionSet) suggestion(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), permission.General+":"), "(")
	if name = strings.TrimSpace(name); len(name) > maxSuggestionLength {
		return ""
	}
	var all []string
	for _, permissions := range n.byResource {
		for name := range permissions {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	if best := suggest.Nearest(name, slices.Compact(all)); best != "" {
		return "; did you mean " + permission.General + ":" + best + "?"
	}
	return ""
}

// permissionsOf returns the permissions that the given resources have. If one of them is not built
// in, it returns all permissions of Kubernetes. No resource may be listed twice.
func permissionsOf(resources []string) permissionSet {
	known := builtIn()
	out := permissionSet{complete: true}
	for _, resource := range resources {
		permissions, found := known.byResource[resource]
		if !found {
			return permissionSet{byResource: []map[string]*registry.Permission{known.all}}
		}
		out.byResource = append(out.byResource, permissions)
	}
	return out
}

type index struct {
	all        map[string]*registry.Permission
	byResource map[string]map[string]*registry.Permission
}

// IsBuiltIn reports whether a built-in kind has a resource, in the form deployments.apps/status.
func IsBuiltIn(resource string) bool {
	_, found := builtIn().byResource[resource]
	return found
}

// Groups returns the API groups of the built-in resources, sorted.
func Groups() []string {
	groups := map[string]bool{}
	for resource := range builtIn().byResource {
		plain, _, _ := strings.Cut(resource, "/")
		_, group, _ := strings.Cut(plain, ".")
		groups[group] = true
	}
	return slices.Sorted(maps.Keys(groups))
}

// Meant returns the built-in resources, in the form deployments.apps, that a name may mean: those with
// this plural in any group, and those whose kind has this name, such as deployment.
func Meant(name string) []string {
	var out []string
	all, err := registry.Load()
	if err != nil {
		return nil
	}
	for _, kind := range all.Kinds {
		_, singular, _ := strings.Cut(kind.Kind, " ")
		for _, resource := range kind.Resources {
			plural, _, _ := strings.Cut(resource, ".")
			if !strings.Contains(resource, "/") && (plural == name || strings.EqualFold(singular, name)) && !slices.Contains(out, resource) {
				out = append(out, resource)
			}
		}
	}
	return out
}

var builtIn = sync.OnceValue(func() index {
	out := index{all: map[string]*registry.Permission{}, byResource: map[string]map[string]*registry.Permission{}}
	all, err := registry.Load()
	if err != nil {
		return out
	}
	byKind := map[string]map[string]*registry.Permission{registry.All: {}}
	for i := range all.Permissions {
		p := &all.Permissions[i]
		out.all[p.Name] = p
		for _, place := range p.Places {
			for _, kind := range place.Kinds {
				if byKind[kind] == nil {
					byKind[kind] = map[string]*registry.Permission{}
				}
				byKind[kind][p.Name] = p
			}
		}
	}
	for _, kind := range all.Kinds {
		for _, resource := range kind.Resources {
			if out.byResource[resource] == nil {
				out.byResource[resource] = map[string]*registry.Permission{}
			}
			for _, permissions := range []map[string]*registry.Permission{byKind[registry.All], byKind[kind.Kind]} {
				for name, p := range permissions {
					out.byResource[resource][name] = p
				}
			}
		}
	}
	return out
})
