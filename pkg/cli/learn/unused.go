// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
)

// Used reports whether the subject ever used a verb of a rule for a resource of the rule. If
// namespace is not "", only requests in this namespace count. If resource is not "", only requests
// for this resource of the rule count.
func (s *Subject) Used(ctx context.Context, rule rbacv1.PolicyRule, namespace, verb, resource string) bool {
	for p, u := range s.usages {
		if namespace != "" && p.Namespace != namespace && !s.Everywhere ||
			!has(rule.APIGroups, p.Group) || !matches(rule, resource, p.Resource) {
			continue
		}
		if u.unnamed.used(ctx, verb) {
			return true
		}
		for name, n := range u.names {
			if (len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name)) && n.used(ctx, verb) {
				return true
			}
		}
	}
	return false
}

func matches(rule rbacv1.PolicyRule, resource, used string) bool {
	if resource != "" {
		return covers(resource, used)
	}
	return slices.ContainsFunc(rule.Resources, func(r string) bool { return covers(r, used) })
}

func covers(granted, used string) bool {
	_, sub, _ := strings.Cut(used, "/")
	return granted == "*" || granted == used || sub != "" && granted == "*/"+sub
}

func has(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, "*")
}

// used reports whether a request had the verb, or a change that the verb covers.
func (n *needs) used(ctx context.Context, verb string) bool {
	switch {
	case verb == "*":
		return len(n.asked) > 0
	case n.asked[verb] || n.named[verb] != nil:
		return true
	case verb == permission.General:
		return n.asked["update"] || n.asked["patch"]
	}
	for _, c := range n.sets {
		for i := range c.set {
			of := &c.set[i]
			for _, p := range of.Node.Chain() {
				if of.Uses(ctx, nil, p, verb) {
					return true
				}
			}
		}
	}
	return false
}

// Unused returns the verbs and the resources of a rule that the subject never used.
func (s *Subject) Unused(ctx context.Context, rule rbacv1.PolicyRule, namespace string) (verbs, resources []string) {
	for _, v := range rule.Verbs {
		if !s.Used(ctx, rule, namespace, v, "") {
			verbs = append(verbs, v)
		}
	}
	if len(verbs) == len(rule.Verbs) {
		return verbs, slices.Clone(rule.Resources)
	}
	for _, r := range rule.Resources {
		if !slices.ContainsFunc(rule.Verbs, func(v string) bool { return s.Used(ctx, rule, namespace, v, r) }) {
			resources = append(resources, r)
		}
	}
	return verbs, resources
}

// count counts what kinds of events the logs have.
func (l *Learner) count(e *event) {
	switch e.Verb {
	case "get", "list", "watch":
		l.Reads++
	case "update", "patch":
		if e.succeeded() && e.ObjectRef != nil {
			l.Writes++
			if len(e.RequestObject) > 0 || e.Annotations[permissionsAnnotation] != "" {
				l.Shown++
			}
		}
	}
}

// Judges reports whether the logs can show that a verb was never used. Logs without reads can't
// show that for the verbs of reads.
func (l *Learner) Judges(verb string) bool {
	return l.Reads > 0 || !slices.Contains([]string{"get", "list", "watch", rbacv1.VerbAll}, verb)
}

// Judged returns a rule without the verbs that the logs can't judge.
func (l *Learner) Judged(rule rbacv1.PolicyRule) rbacv1.PolicyRule {
	rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return !l.Judges(v) })
	return rule
}
