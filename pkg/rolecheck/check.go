// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
)

// Finding is one mistake in the rules of a role.
type Finding struct {
	// Rule is the index of the rule in the role, and Verb the index of the verb in that rule. Verb
	// is -1 for a mistake of the whole rule. Both are -1 for the whole role.
	Rule, Verb int
	// Certain is false if the rule is perhaps correct, for example because another role of the same
	// subject can grant what is missing in this role.
	Certain bool
	Message string
}

// String returns the path of the finding in the role, and its message.
func (f Finding) String() string {
	if f.Rule < 0 {
		return "rules: " + f.Message
	}
	if f.Verb < 0 {
		return fmt.Sprintf("rules[%d]: %s", f.Rule, f.Message)
	}
	return fmt.Sprintf("rules[%d].verbs[%d]: %s", f.Rule, f.Verb, f.Message)
}

const (
	// maxFindings is the maximum number of findings of Check, and so of the server's warnings.
	maxFindings = 10
	// maxWork limits the size of a role that is checked: the number of verbs plus the number of
	// pairs of a group and a resource, summed over all rules. A larger role was probably written by
	// a program. For such a role, the only finding of Check is that it is too large.
	maxWork = 20_000
	// maxSuggestions is the maximum number of misspelled verbs of a role for which Check searches a
	// similar verb. Each search takes some microseconds, also if it finds none and so no finding
	// ends the check.
	maxSuggestions = 50
)

// Check returns the mistakes in the rules of a role, at most ten, in the order of the rules.
func Check(rules []rbacv1.PolicyRule) []Finding { return CheckUpTo(rules, maxFindings) }

// CheckUpTo returns the mistakes like Check, but at most limit.
func CheckUpTo(rules []rbacv1.PolicyRule, limit int) []Finding {
	if !slices.ContainsFunc(rules, hasPermission) {
		return nil
	}
	if work := workOf(rules); work > maxWork {
		return []Finding{{Rule: -1, Verb: -1, Message: fmt.Sprintf("the role is too large, so its permission verbs were not checked: "+
			"it has %d verbs and pairs of a group and a resource, and at most %d are checked", work, maxWork)}}
	}
	c := checker{limit: limit}
	for i := range rules {
		c.rule(i, &rules[i], rules)
	}
	return c.found[:min(len(c.found), limit)]
}

// hasPermission reports whether a rule has the verb granular, or a verb that begins with
// "granular:", even if it is misspelled.
func hasPermission(rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rule.Verbs, IsPermission)
}

// IsPermission reports whether a verb is granular or begins with "granular:", ignoring
// surrounding spaces.
func IsPermission(verb string) bool {
	return permission.IsVerb(strings.TrimSpace(verb))
}

func workOf(rules []rbacv1.PolicyRule) int {
	sum := 0
	for _, rule := range rules {
		sum += len(rule.Verbs) + len(rule.APIGroups)*len(rule.Resources)
	}
	return sum
}

type checker struct {
	found []Finding
	// limit is the maximum number of findings.
	limit int
	// general has the resources for which some rule has the verb granular. It is nil until
	// needed.
	general map[string]bool
	// suggestions is how many similar verbs were searched.
	suggestions int
}

// suggestion returns text to append to a message about a misspelled verb; see
// permissionSet.suggestion. After maxSuggestions searches it returns "".
func (c *checker) suggestion(text string, known permissionSet) string {
	if c.suggestions >= maxSuggestions {
		return ""
	}
	c.suggestions++
	return known.suggestion(text)
}

func (c *checker) add(rule, verb int, certain bool, format string, args ...any) {
	c.found = append(c.found, Finding{rule, verb, certain, fmt.Sprintf(format, args...)})
}

func (c *checker) rule(i int, rule *rbacv1.PolicyRule, all []rbacv1.PolicyRule) {
	resources := Resources(rule)
	c.ordinaryVerbs(i, rule, resources)
	if !hasPermission(*rule) {
		return
	}
	known := permissionsOf(resources)
	permissions := false
	for j, verb := range rule.Verbs {
		if len(c.found) >= c.limit {
			return
		}
		bare := strings.TrimSpace(verb)
		if bare == permission.General && bare != verb {
			c.add(i, j, true, "%q has a leading or trailing space and matches nothing", verb)
		}
		if strings.HasPrefix(bare, permission.General+":") {
			permissions = permissions || !reserved(bare)
			c.verb(i, j, verb, resources, known)
		}
	}
	for _, resource := range resources {
		if len(c.found) >= c.limit {
			return
		}
		switch {
		case !hasFields(resource):
			if !permissions && !slices.Contains(rule.Verbs, permission.General) {
				continue
			}
			c.endpoint(i, resource, rule, resources)
		case permissions && !c.isGeneral(resource, all):
			c.add(i, -1, false, "permissions on %s without the verb granular: they have no effect for a subject that holds only this role", resource)
		}
	}
}

// reserved reports whether a verb allows changing protected labels or annotations, or weakening what
// a definition excludes. Even users who hold update need such a verb for that. So the verb has an
// effect without the verb granular.
func reserved(text string) bool {
	verb, err := permission.Parse(text)
	return err == nil && permission.Reserved(verb.Permission)
}

// isGeneral reports whether some rule has the verb granular for a resource.
func (c *checker) isGeneral(resource string, all []rbacv1.PolicyRule) bool {
	if c.general == nil {
		c.general = map[string]bool{}
		for i := range all {
			if slices.Contains(all[i].Verbs, permission.General) || slices.Contains(all[i].Verbs, rbacv1.VerbAll) {
				for _, r := range Resources(&all[i]) {
					c.general[r] = true
				}
			}
		}
	}
	return c.general[resource] || c.general[allResources]
}

// allResources is the result of Resources for a rule that has * as a group or as a resource.
const allResources = "*"

// Resources returns the resources of a rule, each once, in the form deployments.apps/status. For
// a rule of all groups or all resources it returns only "*".
func Resources(rule *rbacv1.PolicyRule) []string {
	var out []string
	seen := map[string]bool{}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name, sub, found := strings.Cut(resource, "/")
			if group == rbacv1.APIGroupAll || name == rbacv1.ResourceAll {
				return []string{allResources}
			}
			if group != "" {
				name += "." + group
			}
			if found {
				name += "/" + sub
			}
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// definitions is the only resource on which the verb granular:permissionExclusion has an effect.
const definitions = "customresourcedefinitions.apiextensions.k8s.io"

// verb checks the spelling of a permission verb.
func (c *checker) verb(i, j int, text string, resources []string, known permissionSet) {
	verb, err := permission.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "*"):
		c.add(i, j, true, "%s: * has no special meaning in a permission verb", text)
	case err != nil:
		c.add(i, j, true, "%q is not valid: %v%s", text, err, c.suggestion(text, known))
	case verb.Permission == permission.Exclusion && verb.Parameterized:
		c.add(i, j, true, "%s:%s takes no parameter", permission.General, verb.Permission)
	case verb.Permission == permission.Exclusion && !slices.Contains(resources, definitions) && !slices.Contains(resources, allResources):
		c.add(i, j, true, "%s has an effect only on %s", text, definitions)
	case permission.Reserved(verb.Permission):
		// A verb of protected attributes may have any key.
	case known.find(verb.Permission) == nil:
		c.unknown(i, j, text, verb, known)
	default:
		c.parameter(i, j, text, verb, known)
	}
}

// unknown adds a finding for a verb whose permission none of the resources is known to have. It does not if
// the name has a domain: a definition or a FieldPermission may give it. For other names and custom resources,
// it does so only if the name is probably misspelled.
func (c *checker) unknown(i, j int, text string, verb permission.Verb, known permissionSet) {
	switch {
	case strings.Contains(verb.Permission, "/"):
	case known.complete:
		c.add(i, j, true, "no field of these resources has the permission %s%s", text, c.suggestion(text, known))
	default:
		if meant := c.suggestion(text, known); meant != "" {
			// The finding is not certain: names without a domain are reserved for Kubernetes, but a
			// custom resource can still have such a permission.
			c.add(i, j, false, "Kubernetes has no permission %s%s", text, meant)
		}
	}
}

// parameter adds a finding if a verb lacks the parameter that its permission takes, has a parameter
// that its permission does not take, or has a parameter that never matches.
func (c *checker) parameter(i, j int, text string, verb permission.Verb, known permissionSet) {
	found := known.find(verb.Permission)
	switch {
	case !known.complete && !onEveryKind(found):
		// A custom resource may define another permission of the same name.
	case found.Parameter != nil && !verb.Parameterized:
		c.add(i, j, true, "%s needs a parameter, the %s: %s(...)", text, sourceOf(found.Parameter), text)
	case found.Parameter == nil && verb.Parameterized:
		c.add(i, j, true, "%s:%s takes no parameter", permission.General, verb.Permission)
	case found.Parameter != nil && neverKey(permission.Treatment(found.Parameter.Treatment), verb.Parameter):
		c.add(i, j, true, "%s never matches: a parameter that begins with a slash is a %s without a domain", text, found.Parameter.Source)
	case found.Parameter != nil && found.Parameter.Treatment == string(permission.ImageRepositoryPrefix) && !isPrefix(verb.Parameter):
		c.add(i, j, true, "%s never matches: the parameter is a registry (with a dot, a port or the name localhost) or a prefix of a repository in it, without a tag", text)
	}
}

// neverKey reports whether a parameter looks like one for a single key, and is for none.
func neverKey(t permission.Treatment, parameter string) bool {
	_, exact := t.Key(parameter)
	return t == permission.SlashDelimitedPrefix && strings.Contains(parameter, "/") && !exact
}

// sourceOf describes, for a message, the part of an object whose value is the parameter of a
// permission.
func sourceOf(p *registry.Parameter) string {
	switch {
	case p.Treatment == string(permission.ImageRepositoryPrefix):
		return "registry and repository of the image"
	case p.Source == schema.Self:
		return "value"
	}
	if field, ok := schema.SelfField(p.Source); ok {
		return "value of " + field
	}
	return p.Source
}

// isPrefix reports whether at least one image has the parameter as a prefix of its registry and
// repository.
func isPrefix(parameter string) bool {
	return slices.ContainsFunc([]string{parameter, parameter + "/a", parameter + "/a/a"}, func(image string) bool {
		return slices.Contains(permission.ImageRepositoryPrefix.Parameters(image), parameter)
	})
}
