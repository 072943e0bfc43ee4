// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
)

// Instead returns the ordinary verbs that include a permission verb on a resource of
// Kubernetes itself, written as in a role: who holds all of them may change all that the
// permission is about. It returns nil where that is not known, as of custom resources, which
// may exclude the permission.
func Instead(verb, group, resource string) []string {
	parsed, err := permission.Parse(verb)
	if err != nil || !builtIn().has(group, resource) {
		return nil
	}
	ordinary := []string{"update", "patch"}
	if parsed.Permission == "" {
		return ordinary
	}
	known, err := registry.Lookup(parsed.Permission)
	if err != nil || known == nil || known.Excluded || permission.Reserved(parsed.Permission) {
		return nil
	}
	if parsed.Permission == "metadata" {
		// With it single fields suffice to create.
		return append(ordinary, "create")
	}
	return ordinary
}

// InsteadOf returns the questions that are asked in the place of one about a permission
// verb, or nil.
func InsteadOf(a authorizer.Attributes) []authorizer.Attributes {
	if !a.IsResourceRequest() || !IsPermission(a.GetVerb()) {
		return nil
	}
	resource := a.GetResource()
	if sub := a.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	var out []authorizer.Attributes
	for _, v := range Instead(a.GetVerb(), a.GetAPIGroup(), resource) {
		out = append(out, verb{a, v})
	}
	return out
}

type resources map[[2]string]bool

func (r resources) has(group, resource string) bool { return r[[2]string{group, resource}] }

var builtIn = sync.OnceValue(func() resources {
	out := resources{}
	all, err := registry.Load()
	if err != nil {
		return out
	}
	for _, kind := range all.Kinds {
		for _, name := range kind.Resources {
			out[split(name)] = true
		}
	}
	return out
})

// allowsInstead reports whether the rules allow a request, or what includes it.
func (d *Delegation) allowsInstead(a authorizer.Attributes) bool {
	if d.allows(a) {
		return true
	}
	instead := InsteadOf(a)
	return len(instead) > 0 && !slices.ContainsFunc(instead, func(a authorizer.Attributes) bool { return !d.allows(a) })
}

// split takes deployments.apps/scale apart, into a group and deployments/scale.
func split(name string) [2]string {
	name, sub, has := strings.Cut(name, "/")
	resource, group, _ := strings.Cut(name, ".")
	if has {
		resource += "/" + sub
	}
	return [2]string{group, resource}
}
