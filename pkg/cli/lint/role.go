// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/pkg/cli/near"
)

// role looks at a Role or a ClusterRole.
func (in *inside) role(node *yaml.Node) []Finding {
	var rules []rule
	for _, r := range items(at(node, "rules")) {
		rules = append(rules, readRule(r))
	}
	for i := range rules {
		in.rule(&rules[i], rules)
	}
	return in.findings
}

type rule struct {
	node  *yaml.Node
	verbs []*yaml.Node
	// resources are written as deployments.apps/status.
	resources []string
	any       bool
}

func readRule(node *yaml.Node) rule {
	out := rule{node: node, verbs: items(at(node, "verbs"))}
	for _, group := range texts(at(node, "apiGroups")) {
		for _, resource := range texts(at(node, "resources")) {
			name, sub, found := strings.Cut(resource, "/")
			if group == "*" || name == "*" {
				out.any = true
			}
			if group != "" {
				name += "." + group
			}
			if found {
				name += "/" + sub
			}
			out.resources = append(out.resources, name)
		}
	}
	return out
}

func (r *rule) has(verb string) bool {
	return slices.ContainsFunc(r.verbs, func(n *yaml.Node) bool { return n.Value == verb || n.Value == "*" })
}

// granted reports whether some rule grants a verb for a resource.
func granted(rules []rule, verb, resource string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return r.has(verb) && (r.any || slices.Contains(r.resources, resource))
	})
}

func (in *inside) rule(r *rule, all []rule) {
	known := permissionsOf(r)
	permissions := 0
	for _, node := range r.verbs {
		text := node.Value
		bare := strings.TrimSpace(text)
		if bare == permission.General {
			if bare != text {
				in.found(node, Error, "%q has a space beside it and matches nothing", text)
			}
			continue
		}
		if !strings.HasPrefix(bare, permission.General+":") {
			continue
		}
		permissions++
		if v := in.verb(node, known); v != nil {
			in.elsewhere(node, v, r, all)
		}
	}
	if permissions == 0 {
		if r.has(permission.General) && !r.has("*") && !morePermissions(all, r) {
			in.found(r.node, Warning, "granular without a permission covers no field")
		}
		return
	}
	for _, resource := range r.resources {
		if !granted(all, permission.General, resource) {
			in.found(r.node, Warning, "permissions on %s without the verb granular: nobody who holds only this role is looked at field by field", resource)
		}
		if plain, _, _ := strings.Cut(resource, "/"); !granted(all, "get", plain) {
			in.found(r.node, Warning, "no get on %s: kubectl reads an object before it changes it, and without it the answer to a change is empty", plain)
		}
	}
}

// morePermissions reports whether another rule has permissions for a resource of a rule.
func morePermissions(all []rule, r *rule) bool {
	return slices.ContainsFunc(all, func(other rule) bool {
		return slices.ContainsFunc(other.verbs, func(n *yaml.Node) bool { return strings.HasPrefix(n.Value, permission.General+":") }) &&
			(other.any || r.any || slices.ContainsFunc(r.resources, func(s string) bool { return slices.Contains(other.resources, s) }))
	})
}

// verb looks at the spelling of a permission verb. It returns it where it is one of a field.
func (in *inside) verb(node *yaml.Node, known map[string]*registry.Permission) *permission.Verb {
	verb, err := permission.Parse(node.Value)
	if err != nil && strings.Contains(node.Value, "*") {
		in.found(node, Error, "%s: a verb is taken literally, * stands for nothing in it", node.Value)
		return nil
	}
	if err != nil {
		in.found(node, Error, "%q is no verb: %v%s", node.Value, err, meant(node.Value, known))
		return nil
	}
	if permission.Reserved(verb.Permission) {
		return nil // of a protected attribute
	}
	found := known[verb.Permission]
	switch {
	case known == nil:
		return nil // a custom resource, or all resources
	case found == nil:
		if strings.Contains(verb.Permission, "/") {
			in.found(node, Warning, "no field of these resources has %s", node.Value)
		} else {
			in.found(node, Error, "no field of these resources has %s%s", node.Value, meant(node.Value, known))
		}
		return nil
	case found.Parameter != nil && !verb.Parameterized:
		in.found(node, Error, "%s takes a parameter, made of the %s: %s(...)", node.Value, found.Parameter.Source, node.Value)
		return nil
	case found.Parameter == nil && verb.Parameterized:
		in.found(node, Error, "%s:%s takes no parameter", permission.General, verb.Permission)
		return nil
	case found.Parameter != nil && found.Parameter.Treatment == string(permission.SlashDelimitedPrefix) && strings.Contains(verb.Parameter, "/"):
		in.found(node, Error, "%s: the parameter is what stands before the slash of the %s", node.Value, found.Parameter.Source)
	}
	return &verb
}

// elsewhere warns of fields that are written through a subresource too.
func (in *inside) elsewhere(node *yaml.Node, v *permission.Verb, r *rule, all []rule) {
	for _, resource := range r.resources {
		if strings.Contains(resource, "/") {
			continue
		}
		switch v.Permission {
		case "status", "conditions", "condition":
			if served(resource+"/status") && !granted(all, node.Value, resource+"/status") {
				in.found(node, Warning, "%s is written through %s/status, which no rule grants it for", node.Value, resource)
			}
		case "replicas":
			if served(resource+"/scale") && !granted(all, node.Value, resource+"/scale") {
				in.found(node, Warning, "kubectl scale and autoscalers write %s/scale, which no rule grants %s for", resource, node.Value)
			}
		}
	}
}

// meant returns which verb may have been meant.
func meant(text string, known map[string]*registry.Permission) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), permission.General+":"), "(")
	var names []string
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	if best := near.To(strings.TrimSpace(name), names); best != "" {
		return "; did you mean " + permission.General + ":" + best + "?"
	}
	return ""
}

// served reports whether a built-in kind has a resource.
func served(resource string) bool {
	all, err := registry.Load()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all.Kinds, func(k registry.Kind) bool { return slices.Contains(k.Resources, resource) })
}

// permissionsOf returns the permissions of the resources of a rule, nil where one of them is not
// built in.
func permissionsOf(r *rule) map[string]*registry.Permission {
	all, err := registry.Load()
	if err != nil || r.any {
		return nil
	}
	var kinds []string
	for _, resource := range r.resources {
		if !served(resource) {
			return nil
		}
		for _, k := range all.Kinds {
			if slices.Contains(k.Resources, resource) {
				kinds = append(kinds, k.Kind)
			}
		}
	}
	out := map[string]*registry.Permission{}
	for i := range all.Permissions {
		p := &all.Permissions[i]
		for _, place := range p.Places {
			if slices.ContainsFunc(place.Kinds, func(k string) bool { return k == registry.All || slices.Contains(kinds, k) }) {
				out[p.Name] = p
				break
			}
		}
	}
	return out
}
