// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protecttest

import (
	"fmt"
	"strings"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

func pick[T any](r Source, choices ...T) T { return choices[r.IntN(len(choices))] }

func some[T any](r Source, choices ...T) (out []T) {
	for _, v := range choices {
		if r.IntN(3) == 0 {
			out = append(out, v)
		}
	}
	return out
}

var (
	keys      = []string{"env", "example.com/a", "example.com/b", "team"}
	values    = []string{"prod", "dev", "test", ""}
	resources = resourcesOf("pods", "jobs.batch", "deployments.apps", "replicasets.apps", "persistentvolumeclaims",
		"controllerrevisions.apps", "fleets.example.com", "namespaces")
)

func randomEntries(r Source) []protect.Entry {
	entries := make([]protect.Entry, r.IntN(6))
	for i := range entries {
		e := &entries[i]
		*e = protect.Entry{Name: fmt.Sprint("e", i), Namespace: pick(r, "", "", "default", "other"),
			Kind: pick(r, schema.Label, schema.Label, schema.Annotation), Key: pick(r, "env", "env", "example.com/*", "example.com/a", "team")}
		switch r.IntN(3) {
		case 0:
			e.ProtectedValues = some(r, values...)
		case 1:
			e.AllowedValues = some(r, values...)
		}
		if r.IntN(4) > 0 {
			e.Role = protect.RoleRef{Kind: protect.ClusterRole, Name: pick(r, "a", "b", "c")}
			if e.Namespace != "" && r.IntN(2) == 0 {
				e.Role.Kind = protect.Role
			}
		}
		if r.IntN(4) == 0 {
			e.Mode = protect.Audit
		}
		if r.IntN(3) == 0 {
			e.Resources = some(r, resources...)
		}
		if r.IntN(5) == 0 {
			e.ExcludeResources = some(r, resources...)
		}
	}
	return entries
}

func randomThing(r Source, resource string) thing {
	out := thing{}
	for _, s := range slots[resource] {
		if r.IntN(3) == 0 {
			continue
		}
		out[s] = map[string]string{}
		for _, k := range some(r, keys...) {
			out[s][k] = pick(r, values...)
		}
	}
	return out
}

// edited returns a copy of a thing with some random changes.
func edited(r Source, o thing, resource string) thing {
	if r.IntN(8) == 0 {
		return randomThing(r, resource)
	}
	out := o.clone()
	for range r.IntN(4) {
		s := pick(r, slots[resource]...)
		switch r.IntN(4) {
		case 0:
			delete(out[s], pick(r, keys...))
		case 1:
			delete(out, s)
		default:
			if out[s] == nil {
				out[s] = map[string]string{}
			}
			out[s][pick(r, keys...)] = pick(r, values...)
		}
	}
	return out
}

func randomHolds(r Source) []string {
	var all []string
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, "ClusterRole "+name, "ClusterRole "+name+" in default", "Role "+name+" in default")
	}
	for _, k := range keys {
		all = append(all, "granular:protectedLabel("+k+")", "granular:protectedAnnotation("+k+")")
	}
	return some(r, all...)
}

func resourceOf(name string) protect.Resource {
	resource, group, _ := strings.Cut(name, ".")
	return protect.Resource{Group: group, Resource: resource}
}

func resourcesOf(names ...string) (out []protect.Resource) {
	for _, n := range names {
		out = append(out, resourceOf(n))
	}
	return out
}
