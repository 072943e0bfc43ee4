// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
)

// Finding is one mistake in the rules of a role.
type Finding struct {
	// Rule and Verb are where it is. Verb is -1 for a mistake of the whole rule.
	Rule, Verb int
	// Certain is false for what may be meant so, as another role may have what is missing.
	Certain bool
	Message string
}

// String names the place as a path of the role.
func (f Finding) String() string {
	if f.Verb < 0 {
		return fmt.Sprintf("rules[%d]: %s", f.Rule, f.Message)
	}
	return fmt.Sprintf("rules[%d].verbs[%d]: %s", f.Rule, f.Verb, f.Message)
}

const (
	// maxFindings is how many mistakes are looked for: who made ten reads no more.
	maxFindings = 10
	// maxWork is how many verbs, and resources in groups, are looked at. A role of more was
	// written by a program.
	maxWork = 20_000
)

// Check returns the mistakes in the rules of a role, at most ten, in the order of the rules.
func Check(rules []rbacv1.PolicyRule) []Finding {
	if !slices.ContainsFunc(rules, named) || work(rules) > maxWork {
		return nil
	}
	c := checker{}
	for i := range rules {
		c.rule(i, &rules[i], rules)
	}
	return c.found[:min(len(c.found), maxFindings)]
}

// named reports whether a rule names the verb granular, a permission, or what was meant for one.
func named(rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rule.Verbs, IsPermission)
}

// IsPermission reports whether a verb is granular or begins with it, spaces aside.
func IsPermission(verb string) bool {
	verb = strings.TrimSpace(verb)
	return verb == permission.General || strings.HasPrefix(verb, permission.General+":")
}

func work(rules []rbacv1.PolicyRule) int {
	sum := 0
	for _, rule := range rules {
		sum += len(rule.Verbs) + len(rule.APIGroups)*len(rule.Resources)
	}
	return sum
}

type checker struct {
	found []Finding
	// general are the resources for which some rule has the verb granular.
	general map[string]bool
}

func (c *checker) add(rule, verb int, certain bool, format string, args ...any) {
	c.found = append(c.found, Finding{rule, verb, certain, fmt.Sprintf(format, args...)})
}

func (c *checker) rule(i int, rule *rbacv1.PolicyRule, all []rbacv1.PolicyRule) {
	if !named(*rule) {
		return
	}
	resources := Resources(rule)
	known := permissionsOf(resources)
	permissions := false
	for j, verb := range rule.Verbs {
		if len(c.found) >= maxFindings {
			return
		}
		bare := strings.TrimSpace(verb)
		if bare == permission.General && bare != verb {
			c.add(i, j, true, "%q has a space beside it and matches nothing", verb)
		}
		if strings.HasPrefix(bare, permission.General+":") {
			permissions = permissions || !protected(bare)
			c.verb(i, j, verb, known)
		}
	}
	if !permissions {
		return
	}
	for _, resource := range resources {
		if !c.isGeneral(resource, all) {
			c.add(i, -1, false, "permissions on %s without the verb granular: nobody who holds only this role is looked at field by field", resource)
		}
	}
}

// protected reports whether a verb is asked for protected labels or annotations. Callers with update
// need it as well, so it is of use without the verb granular.
func protected(text string) bool {
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
	return c.general[resource] || c.general[everything]
}

// everything stands for the resources of a rule that has * for a group or for a resource.
const everything = "*"

// Resources returns the resources of a rule, each once, written as deployments.apps/status. A
// rule of all groups or of all resources has one, "*".
func Resources(rule *rbacv1.PolicyRule) []string {
	var out []string
	seen := map[string]bool{}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name, sub, found := strings.Cut(resource, "/")
			if group == rbacv1.APIGroupAll || name == rbacv1.ResourceAll {
				return []string{everything}
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

// verb looks at the spelling of a permission verb.
func (c *checker) verb(i, j int, text string, known names) {
	verb, err := permission.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "*"):
		c.add(i, j, true, "%s: a verb is taken literally, * stands for nothing in it", text)
	case err != nil:
		c.add(i, j, true, "%q is no verb: %v%s", text, err, known.meant(text))
	case verb.String() != text:
		c.add(i, j, true, "%s is never asked for: it is written %s", text, verb)
	case permission.Reserved(verb.Permission):
		// Of a protected attribute, which may be any.
	case known.find(verb.Permission) == nil:
		c.unknown(i, j, text, verb, known)
	default:
		c.parameter(i, j, text, verb, known)
	}
}

// unknown is called for a permission that none of the resources is known to have.
func (c *checker) unknown(i, j int, text string, verb permission.Verb, known names) {
	domain, meant := strings.Contains(verb.Permission, "/"), known.meant(text)
	switch {
	case known.complete:
		c.add(i, j, !domain, "no field of these resources has %s%s", text, meant)
	case !domain && meant != "":
		// A custom resource may have it, though names without a domain are Kubernetes' own.
		c.add(i, j, false, "no permission of Kubernetes is called %s%s", text, meant)
	}
}

// parameter looks at whether a verb has the parameter that its permission takes.
func (c *checker) parameter(i, j int, text string, verb permission.Verb, known names) {
	found := known.find(verb.Permission)
	switch {
	case !known.complete && !everywhere(found):
		// A custom resource may have made another of the same name.
	case found.Parameter != nil && !verb.Parameterized:
		c.add(i, j, true, "%s takes a parameter, made of the %s: %s(...)", text, found.Parameter.Source, text)
	case found.Parameter == nil && verb.Parameterized:
		c.add(i, j, true, "%s:%s takes no parameter", permission.General, verb.Permission)
	case found.Parameter != nil && found.Parameter.Treatment == string(permission.SlashDelimitedPrefix) && strings.Contains(verb.Parameter, "/"):
		c.add(i, j, true, "%s: the parameter is what stands before the slash of the %s", text, found.Parameter.Source)
	}
}
