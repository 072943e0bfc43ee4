// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
)

// Rule is a rule of a role, with notes on the requests that need it.
type Rule struct {
	rbacv1.PolicyRule `json:",inline"`
	// Notes describe for each verb which requests need it.
	Notes []string `json:"notes"`
	// Attempted is true if the rule is for requests that were refused.
	Attempted bool `json:"attempted,omitempty"`
}

// Grant has rules that a subject needs in each of the namespaces. If Namespaces is empty, the rules
// are for cluster-scoped resources, or for all namespaces if the subject used too many.
type Grant struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Rules      []Rule   `json:"rules"`
}

// Grants returns the minimal rules that allow the requests of the subject.
func (s *Subject) Grants(ctx context.Context, options roles.Options) ([]Grant, error) {
	byKey := map[string][]Rule{}
	for _, p := range slices.SortedFunc(maps.Keys(s.usages), ResourceKey.compare) {
		rules, err := s.usages[p].rules(ctx, p, options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		byKey[p.Namespace] = append(byKey[p.Namespace], rules...)
	}
	s.addAttempts(byKey)
	var out []Grant
	for _, namespace := range slices.Sorted(maps.Keys(byKey)) {
		same := slices.IndexFunc(out, func(g Grant) bool {
			return len(g.Namespaces) > 0 && slices.EqualFunc(g.Rules, byKey[namespace], sameRule)
		})
		switch {
		case namespace == "":
			out = append(out, Grant{Rules: byKey[namespace]})
		case same < 0:
			out = append(out, Grant{[]string{namespace}, byKey[namespace]})
		default:
			g := &out[same]
			g.Namespaces = append(g.Namespaces, namespace)
			for i := range g.Rules {
				g.Rules[i].Notes = append(g.Rules[i].Notes, byKey[namespace][i].Notes...)
			}
		}
	}
	return out, nil
}

func sameRule(a, b Rule) bool {
	return slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.Verbs, b.Verbs) && a.Attempted == b.Attempted
}

// rules returns the rules for a resource. Object names that need the same verbs share one rule.
func (u *usage) rules(ctx context.Context, p ResourceKey, options roles.Options) ([]Rule, error) {
	if options.AnyName && !u.anyName && !p.impersonation {
		u.mergeNames(ctx)
	}
	var out []Rule
	add := func(name string, n *needs) error {
		verbs, notes, err := n.least(ctx, p.describe(name), options.Width)
		if err != nil || len(verbs) == 0 {
			return err
		}
		// If a rule for all names already grants the verbs, no rule for this name is needed.
		for i, r := range out {
			if r.ResourceNames == nil && !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(r.Verbs, v) }) {
				out[i].Notes = append(out[i].Notes, notes...)
				return nil
			}
			if r.ResourceNames != nil && slices.Equal(r.Verbs, verbs) {
				out[i].ResourceNames = append(out[i].ResourceNames, name)
				out[i].Notes = append(out[i].Notes, notes...)
				return nil
			}
		}
		r := Rule{PolicyRule: rbacv1.PolicyRule{APIGroups: []string{p.Group}, Resources: []string{p.Resource}, Verbs: verbs}, Notes: notes}
		if name != "" {
			r.ResourceNames = []string{name}
		}
		out = append(out, r)
		return nil
	}
	if err := add("", u.unnamed); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(u.names)) {
		if err := add(name, u.names[name]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describe returns a text for notes that names an object, or all objects of a resource if name is
// "".
func (p ResourceKey) describe(name string) string {
	resource := kinds.Qualified(p.Group, p.Resource)
	if name != "" {
		resource += " " + name
	}
	if p.Namespace != "" {
		resource += " in " + p.Namespace
	}
	return resource
}

// least returns the minimal verbs that allow the requests, and notes on which requests need which
// verb.
func (n *needs) least(ctx context.Context, what string, width roles.Width) (verbs, notes []string, err error) {
	uses := map[string]*Use{}
	fields := map[string][]string{}
	use := func(verb string, u *Use) {
		if uses[verb] == nil {
			uses[verb] = &Use{}
		}
		uses[verb].join(u)
	}
	var sets []change.Set
	for _, key := range slices.Sorted(maps.Keys(n.sets)) {
		sets = append(sets, n.sets[key].set)
	}
	permissions, err := roles.LeastVerbs(ctx, sets, width)
	if err != nil {
		// No permission covers one of the changes, so the ordinary verbs are needed.
		permissions = nil
		for _, verb := range []string{"update", "patch"} {
			if n.asked[verb] {
				verbs = append(verbs, verb)
				notes = append(notes, fmt.Sprintf("%s on %s: a change needs it, since %v", verb, what, err))
			}
		}
		if len(verbs) == 0 {
			return nil, nil, err
		}
	} else {
		for _, c := range n.sets {
			c.countCovered(ctx, permissions, use, fields)
		}
	}
	for verb, u := range n.named {
		use(verb, u)
		permissions = append(permissions, verb)
	}
	if len(verbs) == 0 && n.granular {
		verbs = append(verbs, permission.General)
	}
	for _, verb := range slices.Sorted(maps.Keys(n.ordinary)) {
		use(verb, n.ordinary[verb])
		verbs = append(verbs, verb)
	}
	for _, verb := range slices.Sorted(maps.Keys(n.unknown)) {
		u := n.unknown[verb]
		if n.fields {
			notes = append(notes, fmt.Sprintf("%s on %s: the log does not show the fields of %s; they are assumed to be the fields of the other requests", verb, what, u))
			continue
		}
		verbs = append(verbs, verb)
		notes = append(notes, fmt.Sprintf("%s on %s: %s; the log does not show the fields", verb, what, u))
	}
	if n.unchanged > 0 {
		notes = append(notes, fmt.Sprintf("%s on %s: %d of the requests changed nothing", permission.General, what, n.unchanged))
	}
	for _, verb := range slices.Sorted(maps.Keys(uses)) {
		note := fmt.Sprintf("%s on %s: %s", verb, what, uses[verb])
		if paths := fields[verb]; len(paths) > 0 {
			slices.Sort(paths)
			note += "; " + strings.Join(paths, ", ")
		}
		notes = append(notes, note)
	}
	slices.Sort(verbs)
	slices.Sort(permissions)
	return append(slices.Compact(verbs), slices.Compact(permissions)...), notes, nil
}

// countCovered finds for each change of c the most specific permission that has a verb in
// permissions. It calls use once for each verb found, and adds the first few paths of the changes
// that a verb covers to fields, by verb.
func (c *changeUse) countCovered(ctx context.Context, permissions []string, use func(string, *Use), fields map[string][]string) {
	counted := map[string]bool{}
	for i := range c.set {
		change := &c.set[i]
		for _, p := range slices.Backward(change.Node.Chain()) {
			found := false
			for _, verb := range permissions {
				if !change.Uses(ctx, nil, p, verb) {
					continue
				}
				found = true
				if !counted[verb] {
					counted[verb] = true
					use(verb, &c.Use)
				}
				if path := change.Path().String(); len(fields[verb]) < maxAuditIDs && !slices.Contains(fields[verb], path) {
					fields[verb] = append(fields[verb], cmp.Or(path, "the whole object"))
				}
			}
			if found {
				break
			}
		}
	}
}

// String returns the number of requests, their times and some audit IDs, for notes.
func (u *Use) String() string {
	text := requestCount(u.Requests)
	if !u.First.IsZero() {
		text += ", " + u.First.UTC().Format(time.RFC3339)
		if u.Requests > 1 {
			text += " to " + u.Last.UTC().Format(time.RFC3339)
		}
	}
	if u.Requests > len(u.AuditIDs) {
		return text + ", the first " + strings.Join(u.AuditIDs, " ")
	}
	return text + ", " + strings.Join(u.AuditIDs, " ")
}

// requestCount returns a number of requests as text.
func requestCount(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}
