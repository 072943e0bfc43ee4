// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/included"
	"kube-granular.dev/pkg/rolecheck"
)

// role checks the rules of a Role, a ClusterRole or a delegation.
func (l *objectLinter) role(node *yaml.Node) []Finding {
	var rules []rule
	var plain []rbacv1.PolicyRule
	for _, r := range items(at(node, "rules")) {
		rules = append(rules, readRule(r))
		plain = append(plain, rules[len(rules)-1].PolicyRule)
	}
	mistakes := rolecheck.CheckUpTo(plain, maxMistakes)
	for _, f := range mistakes {
		if f.Rule < 0 {
			l.report(node, Warning, "%s", f.Message)
		}
	}
	for i := range rules {
		r := &rules[i]
		for _, f := range mistakes {
			if f.Rule == i {
				l.report(r.at(f.Verb), map[bool]string{true: Error, false: Warning}[f.Certain], "%s", f.Message)
			}
		}
		l.checkSpelling(r, text(at(node, "kind")))
		l.checkUsefulness(r, rules)
	}
	if len(mistakes) == maxMistakes {
		l.report(node, Warning, "there may be more than %d mistakes in the verbs; correct these first", maxMistakes)
	}
	return l.findings
}

// rule is one rule of a role, with its YAML node and those of its verbs.
type rule struct {
	rbacv1.PolicyRule
	node  *yaml.Node
	verbs []*yaml.Node
	// resources are formatted as deployments.apps/status.
	resources []string
}

func readRule(node *yaml.Node) rule {
	out := rule{node: node, verbs: items(at(node, "verbs"))}
	out.APIGroups, out.Resources = texts(at(node, "apiGroups")), texts(at(node, "resources"))
	out.ResourceNames = texts(at(node, "resourceNames"))
	for _, verb := range out.verbs {
		out.Verbs = append(out.Verbs, verb.Value)
	}
	out.resources = rolecheck.Resources(&out.PolicyRule)
	return out
}

// at returns the YAML node of the verb at an index, or the node of the rule for a negative index.
func (r *rule) at(verb int) *yaml.Node {
	if verb < 0 {
		return r.node
	}
	return r.verbs[verb]
}

func (r *rule) has(verb string) bool {
	return slices.Contains(r.Verbs, verb) || slices.Contains(r.Verbs, rbacv1.VerbAll)
}

func (r *rule) any() bool { return slices.Contains(r.resources, "*") }

// isGranted reports whether one of the rules grants a verb for a resource.
func isGranted(rules []rule, verb, resource string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return r.has(verb) && (r.any() || slices.Contains(r.resources, resource))
	})
}

// permissions returns the permission verbs of a rule.
func (r *rule) permissions() []*yaml.Node {
	var out []*yaml.Node
	for _, node := range r.verbs {
		if strings.HasPrefix(strings.TrimSpace(node.Value), permission.General+":") {
			out = append(out, node)
		}
	}
	return out
}

// checkUsefulness warns if a valid rule has no effect, or needs another verb that no rule grants,
// such as get.
func (l *objectLinter) checkUsefulness(r *rule, all []rule) {
	l.checkMetadata(r, all)
	permissions := r.permissions()
	if len(permissions) == 0 {
		if r.has(permission.General) && !r.has(rbacv1.VerbAll) && !morePermissions(all, r) {
			l.report(r.node, Warning, "the verb granular without a permission verb allows no change")
		}
		return
	}
	for _, node := range permissions {
		if verb, err := permission.Parse(node.Value); err == nil {
			l.checkSubresources(node, verb.Permission, r, all)
		}
	}
	if r.any() {
		return
	}
	for _, resource := range r.resources {
		if plain, _, _ := strings.Cut(resource, "/"); !isGranted(all, "get", plain) && !isGranted(all, included.MetadataVerb, plain) {
			l.report(r.node, Warning, "the verb get is missing on %s: kubectl reads an object before it changes it, and without get the response to a change is empty", plain)
		}
	}
}

// morePermissions reports whether one of all rules has permission verbs for a resource of r.
func morePermissions(all []rule, r *rule) bool {
	return slices.ContainsFunc(all, func(other rule) bool {
		return len(other.permissions()) > 0 &&
			(other.any() || r.any() || slices.ContainsFunc(r.resources, func(s string) bool { return slices.Contains(other.resources, s) }))
	})
}

// checkSubresources warns if clients write the fields of a permission through a subresource (status
// or scale), and no rule grants the verb for that subresource.
func (l *objectLinter) checkSubresources(node *yaml.Node, name string, r *rule, all []rule) {
	for _, resource := range r.resources {
		if strings.Contains(resource, "/") {
			continue
		}
		switch name {
		case "status", "conditions", "condition":
			if rolecheck.IsBuiltIn(resource+"/status") && !isGranted(all, node.Value, resource+"/status") {
				l.report(node, Warning, "%s is written through %s/status, and no rule grants the verb there", node.Value, resource)
			}
		case "replicas":
			if rolecheck.IsBuiltIn(resource+"/scale") && !isGranted(all, node.Value, resource+"/scale") {
				l.report(node, Warning, "kubectl scale and autoscalers write %s/scale, and no rule grants %s there", resource, node.Value)
			}
		}
	}
}

// checkMetadata warns if the verb readmetadata has no effect: on subresources, which are never read
// without data, and beside get, list and watch, which include it.
func (l *objectLinter) checkMetadata(r *rule, all []rule) {
	i := slices.Index(r.Verbs, included.MetadataVerb)
	if i < 0 || r.any() {
		return
	}
	for _, resource := range r.resources {
		switch {
		case strings.Contains(resource, "/"):
			l.report(r.verbs[i], Warning, "the verb %s has no effect on %s: it is for whole resources, not for subresources",
				included.MetadataVerb, resource)
		case readsWhole(all, resource):
			l.report(r.verbs[i], Warning, "the verb %s has no effect on %s: get, list and watch include it", included.MetadataVerb, resource)
		}
	}
}

// readsWhole reports whether rules grant all verbs that read whole objects of a resource.
func readsWhole(all []rule, resource string) bool {
	return !slices.ContainsFunc([]string{"get", "list", "watch"}, func(verb string) bool {
		return !slices.ContainsFunc(all, func(r rule) bool {
			return len(r.ResourceNames) == 0 && isGranted([]rule{r}, verb, resource)
		})
	})
}
