// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	granular "kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/learn"
)

// Coarse is a subject's permission to update or patch a resource, which verbs of single fields
// could replace.
type Coarse struct {
	Subject   string `json:"subject"`
	Namespace string `json:"namespace,omitempty"`
	// Resource is formatted as deployments.apps/status.
	Resource string `json:"resource"`
	// Holds are the ordinary verbs that the subject holds by Binding and Role.
	Holds   []string `json:"holds"`
	Binding string   `json:"binding"`
	Role    string   `json:"role"`
	// Needs are the verbs of single fields that, together with the verb granular, would have
	// allowed all requests.
	Needs []string `json:"needs"`
	// Used is the number of permissions of the resource that the verbs in Needs cover, and
	// Permissions is the number of all permissions of the resource.
	Used        int `json:"used"`
	Permissions int `json:"permissions"`
	// Sure is false if Needs may be incomplete, because the log does not show the changed fields of
	// some requests, or no permission covers them.
	Sure bool `json:"sure"`
}

// Takes returns how many permissions the subject would lose if it held only the verbs in Needs.
func (c *Coarse) Takes() int { return c.Permissions - c.Used }

// Unused is a granted rule, or a part of it, that no subject of its binding used.
type Unused struct {
	Binding  string   `json:"binding"`
	Role     string   `json:"role"`
	Subjects []string `json:"subjects"`
	Groups   []string `json:"apiGroups,omitempty"`
	// Resources are the resources of the rule for which nobody used Verbs.
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
	// Whole is true if no part of the rule was used.
	Whole bool `json:"whole"`
}

// Report has the findings.
type Report struct {
	// Requests is the number of requests in the logs that are attributed to a subject.
	Requests int      `json:"requests"`
	Coarse   []Coarse `json:"coarse"`
	Unused   []Unused `json:"unused"`
	// NoReads is true if the logs have no reads. Then Unused leaves out the verbs of reads.
	NoReads bool `json:"noReads,omitempty"`
	// NoFields is true if the logs show no changed fields. Then Coarse is not known.
	NoFields bool `json:"noFields,omitempty"`
}

// New compares the usage of subjects with their rules. Built-in bindings, whose names begin with
// system:, are ignored unless all is true.
func New(ctx context.Context, l *learn.Learner, rbac *access.RBAC, trees learn.Trees, all bool) (*Report, error) {
	out := &Report{Requests: l.Learned, Coarse: []Coarse{}, Unused: []Unused{}, NoReads: l.Reads == 0, NoFields: l.Writes > 0 && l.Shown == 0}
	for _, s := range l.Subjects() {
		held := rbac.HeldBy(s.Users[0], s.Groups)
		writes, err := s.Writes(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range writes {
			if c := coarse(s, w, held, trees); c != nil {
				out.Coarse = append(out.Coarse, *c)
			}
		}
	}
	slices.SortStableFunc(out.Coarse, func(a, b Coarse) int { return cmp.Compare(b.Takes(), a.Takes()) })
	for _, g := range rbac.Granted() {
		_, name, _ := strings.Cut(g.Binding, " ")
		if len(g.Rule.Resources) == 0 || !all && strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "system:") {
			continue
		}
		if g.Rule = l.Judged(g.Rule); len(g.Rule.Verbs) == 0 {
			continue
		}
		out.Unused = append(out.Unused, unused(ctx, g, l.Subjects())...)
	}
	// Completely unused rules come first, then those with the most unused verbs and resources.
	slices.SortStableFunc(out.Unused, func(a, b Unused) int {
		return cmp.Or(-compareBool(a.Whole, b.Whole), cmp.Compare(len(b.Verbs)*len(b.Resources), len(a.Verbs)*len(a.Resources)))
	})
	return out, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// coarse returns the subject's permission to update or patch the resource of w, if verbs of single
// fields would allow less and are sufficient for the requests in w. It returns nil otherwise, and
// also if these verbs are not known.
func coarse(s *learn.Subject, w learn.Write, held []access.HeldRule, trees learn.Trees) *Coarse {
	of, sub := w.Resource()
	tree, err := trees.Tree(of, sub)
	if err != nil || tree == nil || len(w.Verbs) == 0 && !w.Known {
		return nil
	}
	c := &Coarse{Subject: s.String(), Namespace: w.Key.Namespace, Resource: of.GroupResource().String(), Needs: w.Verbs, Sure: w.Known}
	if sub != "" {
		c.Resource += "/" + sub
	}
	at := access.Target{Group: of.Group, Version: of.Version, Resource: of.Resource, Subresource: sub, Namespace: w.Key.Namespace}
	for _, h := range held {
		if h.Namespace != "" && h.Namespace != at.Namespace || len(h.Rule.ResourceNames) > 0 {
			continue
		}
		for _, verb := range []string{"update", "patch"} {
			if access.Grants(h.Rule, verb, at) && !slices.Contains(c.Holds, verb) {
				c.Holds = append(c.Holds, verb)
				c.Binding, c.Role = h.Binding, h.Role
			}
		}
	}
	if len(c.Holds) == 0 {
		return nil
	}
	if c.Used, c.Permissions = countCovered(tree, w.Verbs); c.Takes() == 0 {
		return nil
	}
	return c
}

// countCovered returns how many permissions of a permission tree the verbs cover, fully or in part,
// and how many there are. Excluded permissions are not counted, because update does not include
// them.
func countCovered(tree *granular.Tree, verbs []string) (covered, all int) {
	named := map[string]bool{}
	for _, v := range verbs {
		if parsed, err := permission.Parse(v); err == nil {
			named[parsed.Permission] = true
		}
	}
	for _, info := range tree.Permissions() {
		if info.Excluded {
			continue
		}
		all++
		if named[info.Name] || slices.ContainsFunc(info.Above, func(above string) bool { return named[above] }) {
			covered++
		}
	}
	return covered, all
}

// unused returns the parts of a granted rule that no subject of its binding used: the resources
// for which no verb of the rule was used, and the verbs that were not used for any of the
// remaining resources.
func unused(ctx context.Context, g access.GrantedRule, subjects []*learn.Subject) []Unused {
	var users []*learn.Subject
	out := Unused{Binding: g.Binding, Role: g.Role, Groups: g.Rule.APIGroups, Subjects: []string{}}
	for _, bound := range g.Subjects {
		name := strings.ToLower(bound.Kind) + ":" + bound.Name
		if bound.Kind == rbacv1.ServiceAccountKind {
			name = "serviceaccount:" + cmp.Or(bound.Namespace, g.Namespace) + "/" + bound.Name
		}
		out.Subjects = append(out.Subjects, name)
		for _, s := range subjects {
			if access.IsSubject(bound, g.Namespace, s.Users[0], s.Groups) && !slices.Contains(users, s) {
				users = append(users, s)
			}
		}
	}
	used := func(verb, resource string) bool {
		return slices.ContainsFunc(users, func(s *learn.Subject) bool { return s.Used(ctx, g.Rule, g.Namespace, verb, resource) })
	}
	var idle []string
	for _, r := range g.Rule.Resources {
		if !slices.ContainsFunc(g.Rule.Verbs, func(v string) bool { return used(v, r) }) {
			idle = append(idle, r)
		}
	}
	if out.Resources, out.Verbs = idle, g.Rule.Verbs; len(idle) == len(g.Rule.Resources) {
		out.Whole = true
		return []Unused{out}
	}
	var found []Unused
	if len(idle) > 0 {
		found = append(found, out)
	}
	active := slices.DeleteFunc(slices.Clone(g.Rule.Resources), func(r string) bool { return slices.Contains(idle, r) })
	verbs := slices.DeleteFunc(slices.Clone(g.Rule.Verbs), func(v string) bool { return used(v, "") })
	if len(verbs) > 0 {
		out.Resources, out.Verbs = active, verbs
		found = append(found, out)
	}
	return found
}
