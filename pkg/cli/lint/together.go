// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube-granular.dev/granular/permission"
)

// Source is a file of YAML documents.
type Source struct {
	Name string
	Data []byte
}

// Together compares all roles, delegations and delegation policies with all definitions in the files.
// It warns of rules whose verb * includes what a definition excludes, also if a ClusterRole gathers such
// a rule from another one. It also warns of verbs for single conditions that can't be told apart.
func Together(sources []Source) ([]Finding, error) {
	var resources []customResource
	var grants []*grant
	for _, source := range sources {
		found, err := objects(source.Data, "CustomResourceDefinition",
			"Role", "ClusterRole", "AuthorityDelegation", "AuthorityDelegationPolicy")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source.Name, err)
		}
		for _, node := range found {
			if text(at(node, "kind")) != "CustomResourceDefinition" {
				grants = append(grants, newGrant(source.Name, node))
				continue
			}
			resource, err := newCustomResource(node)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", source.Name, err)
			}
			resources = append(resources, resource)
		}
	}
	var out []Finding
	for _, g := range grants {
		g.checkGathered(grants, resources)
		for i := range g.rules {
			g.checkWildcard(&g.rules[i], resources)
			g.checkCondition(&g.rules[i], resources)
		}
		out = append(out, g.in.findings...)
	}
	return out, nil
}

// customResource is what a definition says about its resource.
type customResource struct {
	group, plural string
	// excluded are the permissions that the definition excludes, sorted.
	excluded []string
	// unkeyed is set if the resource has conditions, but no permission of a single condition.
	unkeyed bool
}

func newCustomResource(node *yaml.Node) (customResource, error) {
	out := customResource{group: text(at(node, "spec", "group")), plural: text(at(node, "spec", "names", "plural"))}
	versions := at(node, "spec", "versions")
	byConvention := !hasExtension(versions)
	for _, version := range items(versions) {
		written := at(version, "schema", "openAPIV3Schema")
		if written == nil {
			continue
		}
		out.unkeyed = out.unkeyed || byConvention && conditionsWithoutKeys(written) != nil
		tree, err := (&objectLinter{}).compile(written) // File reports what does not compile
		if err != nil {
			return out, err
		}
		if tree == nil {
			continue
		}
		for _, info := range tree.Permissions() {
			if info.Excluded {
				out.excluded = append(out.excluded, info.Name)
			}
		}
	}
	slices.Sort(out.excluded)
	out.excluded = slices.Compact(out.excluded)
	return out, nil
}

func (c *customResource) String() string { return c.plural + "." + c.group }

// covers reports whether a rule is about a resource, or about a subresource of it.
func (r *rule) covers(c *customResource) bool {
	if !slices.Contains(r.APIGroups, c.group) && !slices.Contains(r.APIGroups, rbacv1.APIGroupAll) {
		return false
	}
	return slices.ContainsFunc(r.Resources, func(resource string) bool {
		plural, _, _ := strings.Cut(resource, "/")
		return plural == c.plural || plural == rbacv1.ResourceAll
	})
}

// opens returns which excluded permissions a rule includes by the verb *, as text, or "".
func (r *rule) opens(resources []customResource) string {
	var out []string
	for i := range resources {
		if c := &resources[i]; len(c.excluded) > 0 && slices.Contains(r.Verbs, rbacv1.VerbAll) && r.covers(c) {
			out = append(out, strings.Join(c.excluded, ", ")+" of "+c.String())
		}
	}
	return strings.Join(out, "; ")
}

// grant is a role, or another object with rules.
type grant struct {
	in    *objectLinter
	node  *yaml.Node
	rules []rule
}

func newGrant(file string, node *yaml.Node) *grant {
	kind := text(at(node, "kind"))
	g := &grant{in: &objectLinter{file: file, object: kind + " " + text(at(node, "metadata", "name"))}, node: node}
	rules := at(node, "rules")
	if kind != "Role" && kind != "ClusterRole" {
		rules = at(node, "spec", "rules")
	}
	for _, r := range items(rules) {
		g.rules = append(g.rules, readRule(r))
	}
	return g
}

// checkWildcard warns if the verb * of a rule includes excluded permissions.
func (g *grant) checkWildcard(r *rule, resources []customResource) {
	if opened := r.opens(resources); opened != "" {
		all := slices.IndexFunc(r.verbs, func(verb *yaml.Node) bool { return verb.Value == rbacv1.VerbAll })
		g.in.report(r.verbs[all], Warning, "the verb * includes excluded permissions, which update does not: %s; name the verbs", opened)
	}
}

// checkGathered warns if a ClusterRole gathers a rule with excluded permissions from another one. A
// gathered rule that is also written in the role, as the server does it, counts only once.
func (g *grant) checkGathered(all []*grant, resources []customResource) {
	var selectors []labels.Selector
	for _, written := range items(at(g.node, "aggregationRule", "clusterRoleSelectors")) {
		var selector metav1.LabelSelector
		if ok, err := g.in.read(written, &selector); !ok || err != nil {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(&selector); err == nil {
			selectors = append(selectors, s)
		}
	}
	for _, source := range all {
		if text(at(source.node, "kind")) != "ClusterRole" || source == g ||
			!slices.ContainsFunc(selectors, func(s labels.Selector) bool { return s.Matches(source.labels()) }) {
			continue
		}
		for i := range source.rules {
			r := &source.rules[i]
			opened := r.opens(resources)
			if opened == "" {
				continue
			}
			g.rules = slices.DeleteFunc(g.rules, func(copied rule) bool { return sameRule(r, &copied) })
			g.in.report(at(g.node, "aggregationRule"), Warning, "the verb * in the rules of %s, which are gathered, "+
				"includes excluded permissions, which update does not: %s", source.in.object, opened)
		}
	}
}

// labels returns the labels of the object. Labels that are no texts are none.
func (g *grant) labels() labels.Set {
	var out labels.Set
	if written := at(g.node, "metadata", "labels"); written == nil || written.Decode(&out) != nil {
		return nil
	}
	return out
}

func sameRule(a, b *rule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) &&
		slices.Equal(a.Resources, b.Resources) && slices.Equal(a.ResourceNames, b.ResourceNames)
}

// checkCondition warns of verbs for single conditions of a resource that has no permission of a single
// condition. The server accepts such a role, and refuses the requests.
func (g *grant) checkCondition(r *rule, resources []customResource) {
	for _, node := range r.permissions() {
		verb, err := permission.Parse(node.Value)
		if err != nil || verb.Permission != "condition" {
			continue
		}
		for i := range resources {
			if c := &resources[i]; c.unkeyed && !slices.Contains(r.Resources, rbacv1.ResourceAll) && r.covers(c) {
				g.in.report(node, Warning, "%s covers nothing of %s: the list .status.conditions of its definition is no map by type; "+
					"grant granular:conditions, or change the definition", node.Value, c)
			}
		}
	}
}
