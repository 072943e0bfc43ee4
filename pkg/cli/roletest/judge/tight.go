// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	rbachelpers "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/included"
)

// Loose is a part of a role without which all cases have the same outcome.
type Loose struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Role string `json:"role"`
	// Rule is the number of the rule, from 1. It is 0 if no case needs the role at all.
	Rule int `json:"rule,omitempty"`
	// Part is the verb or another entry of the rule. It is empty if no case needs the rule at all.
	Part string `json:"part,omitempty"`
}

// String returns what the role has too much.
func (l *Loose) String() string {
	switch {
	case l.Rule == 0:
		return l.Role + ": no case needs the role"
	case l.Part == "":
		return fmt.Sprintf("%s: no case needs rule %d", l.Role, l.Rule)
	}
	return fmt.Sprintf("%s: no case needs %s in rule %d", l.Role, l.Part, l.Rule)
}

// requestVerbs are the verbs for which the server asks for requests of a case.
var requestVerbs = sets.New("get", "list", "watch", "create", "update", "patch", "delete", "*", included.MetadataVerb)

func isRequestVerb(verb string) bool {
	return requestVerbs.Has(verb) || permission.IsVerb(verb)
}

func hasRequestVerb(verbs []string) bool { return slices.ContainsFunc(verbs, isRequestVerb) }

// loose finds the parts of roles without which all cases that passed still pass: what is allowed stays so,
// and what is refused is refused for the reason that the case names. The server judges each role without
// each of its parts; it is asked only about the cases that the part may matter for, and only until one of
// them fails.
func (s *Server) loose(ctx context.Context, roles *rbac, cases []*judged) ([]Loose, error) {
	passed := slices.DeleteFunc(slices.Clone(cases), func(j *judged) bool { return j.result.Outcome != Passed })
	var out []Loose
	for _, r := range roles.roles {
		if r.gathers {
			continue
		}
		loose, err := s.looseOf(ctx, r, roles, passed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.object, err)
		}
		out = append(out, loose...)
	}
	return out, nil
}

func (s *Server) looseOf(ctx context.Context, r *role, roles *rbac, passed []*judged) ([]Loose, error) {
	found := Loose{File: r.object.File, Line: r.object.Line, Role: r.object.String()}
	using := slices.DeleteFunc(slices.Clone(passed), func(j *judged) bool { return !roles.mayUse(r, &j.test.As) })
	needs := func(rules []rbacv1.PolicyRule, rule *rbacv1.PolicyRule, verb string) (bool, error) {
		affected := slices.DeleteFunc(slices.Clone(using), func(j *judged) bool { return !mayMatter(rule, verb, j.request) })
		return s.fails(ctx, r, rules, affected)
	}
	var out []Loose
	changed := false
	for i := range r.rules {
		rule := &r.rules[i]
		if len(rule.NonResourceURLs) > 0 {
			continue
		}
		changed = true
		// A rule that no case needs is one finding, and not one for each of its verbs.
		needed, err := needs(slices.Delete(slices.Clone(r.rules), i, i+1), rule, "")
		if err != nil {
			return nil, err
		}
		found.Rule, found.Part = i+1, ""
		if !needed {
			out = append(out, found)
			continue
		}
		for _, p := range parts(rule) {
			rules := slices.Clone(r.rules)
			rules[i] = p.without
			needed, err := needs(rules, rule, p.verb)
			if err != nil {
				return nil, err
			}
			if found.Part = p.name; !needed {
				out = append(out, found)
			}
		}
	}
	if len(out) == len(r.rules) && len(out) > 0 && !slices.ContainsFunc(out, func(l Loose) bool { return l.Part != "" }) {
		found.Rule, found.Part = 0, ""
		out = []Loose{found}
	}
	if !changed {
		return out, nil
	}
	return out, s.setRules(ctx, r, r.rules)
}

// mayUse reports whether a subject may have the rules of a role: by a binding, by a role that gathers
// them, or by the chain of a delegation.
func (r *rbac) mayUse(one *role, s *format.Subject) bool {
	return s.Selecting() || len(one.object.GetLabels()) > 0 ||
		slices.ContainsFunc(r.bindings, func(b *binding) bool { return b.refersTo(one) && b.names(s) })
}

// part is an entry of a rule, and the rule without it.
type part struct {
	name, verb string
	without    rbacv1.PolicyRule
}

// parts returns the verbs of a rule, and the entries of each other list that has several.
func parts(rule *rbacv1.PolicyRule) []part {
	var out []part
	for i, verb := range rule.Verbs {
		p := part{"the verb " + verb, verb, *rule.DeepCopy()}
		p.without.Verbs = slices.Delete(p.without.Verbs, i, i+1)
		if len(p.without.Verbs) == 0 {
			continue // the rule as a whole was judged
		}
		out = append(out, p)
	}
	for what, list := range map[string]func(*rbacv1.PolicyRule) *[]string{
		"the API group": func(r *rbacv1.PolicyRule) *[]string { return &r.APIGroups },
		"the resource":  func(r *rbacv1.PolicyRule) *[]string { return &r.Resources },
		"the name":      func(r *rbacv1.PolicyRule) *[]string { return &r.ResourceNames },
	} {
		for i, entry := range *list(rule) {
			if len(*list(rule)) == 1 {
				break
			}
			p := part{fmt.Sprintf("%s %q", what, entry), "", *rule.DeepCopy()}
			*list(&p.without) = slices.Delete(*list(&p.without), i, i+1)
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return out
}

// mayMatter reports whether a request can depend on a verb of a rule, or on the rule if verb is empty.
// It may say so too often, but never too rarely.
func mayMatter(rule *rbacv1.PolicyRule, verb string, r *request) bool {
	// The server asks for other verbs and resources when these objects are written.
	if r.resource.Group == rbacv1.GroupName || strings.HasPrefix(r.resource.Group, "authority.") {
		return true
	}
	if verb == "" && !hasRequestVerb(rule.Verbs) || verb != "" && !isRequestVerb(verb) {
		return true
	}
	name := r.resource.Resource
	subresource := strings.Join(r.subresources, "/")
	if subresource != "" {
		name += "/" + subresource
	}
	// Reading the object shows in a refusal, and a change of a subresource may ask for the object.
	matches := rbachelpers.ResourceMatches(rule, name, subresource) || rbachelpers.ResourceMatches(rule, r.resource.Resource, "")
	if !matches || !rbachelpers.APIGroupMatches(rule, r.resource.Group) {
		return false
	}
	reads := r.verbs[0] == "get" || r.verbs[0] == "list" || r.verbs[0] == "watch"
	return !reads || verb == "" || verb == "*" || slices.Contains(r.verbs, verb)
}

// fails reports whether a case fails when a role has other rules. It leaves the role with these rules.
func (s *Server) fails(ctx context.Context, r *role, rules []rbacv1.PolicyRule, cases []*judged) (bool, error) {
	if len(cases) == 0 {
		return false, nil
	}
	if err := s.setRules(ctx, r, rules); err != nil {
		return false, err
	}
	for _, j := range cases {
		_, err := j.request.send(ctx, j.request.client(j.client))
		if failed, err := j.fails(err); failed || err != nil {
			return failed, err
		}
	}
	return false, nil
}

// fails reports whether a case that passed fails with another answer to its request. It returns an error
// if the answer can't come from a right that is missing.
func (j *judged) fails(answer error) (bool, error) {
	got, _ := outcome(j.test.Refused, answer)
	// Admission refuses too what a caller has no right for, and a delegation that lost a right answers
	// without a verb.
	if got == Error && !apierrors.IsForbidden(answer) && !j.test.As.Selecting() {
		return false, fmt.Errorf("%s: %s", j.request, reason(answer))
	}
	return got != Passed, nil
}

// setRules writes the rules of a role, and waits until the authorizer knows them.
func (s *Server) setRules(ctx context.Context, r *role, rules []rbacv1.PolicyRule) error {
	patch, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		return err
	}
	resource, err := s.resource(r.object.Unstructured)
	if err != nil {
		return err
	}
	if _, err := resource.Patch(ctx, r.object.GetName(), types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return err
	}
	if len(r.object.GetLabels()) > 0 {
		return s.waitForRBAC(ctx)
	}
	return s.waitForSentinels(ctx)
}
