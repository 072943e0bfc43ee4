// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roles"
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

// Wildcard is what the subjects of a binding used of a rule with *.
type Wildcard struct {
	Binding   string   `json:"binding"`
	Role      string   `json:"role"`
	Subjects  []string `json:"subjects"`
	Groups    []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
	// Used has the used verbs, by resource.
	Used []Used `json:"used"`
}

// Used has the verbs that were used on a resource, which is formatted as deployments.apps/status.
type Used struct {
	Resource string   `json:"resource"`
	Verbs    []string `json:"verbs"`
}

// Report has the findings.
type Report struct {
	// Requests is the number of requests in the logs that are attributed to a subject.
	Requests int `json:"requests"`
	// Paths is the number of requests without a resource. Rules about paths are not judged.
	Paths  int      `json:"paths,omitempty"`
	Coarse []Coarse `json:"coarse"`
	Unused []Unused `json:"unused"`
	// Wildcards are the rules with * of which something was used. What * also allows is in no list of
	// unused permissions.
	Wildcards []Wildcard `json:"wildcards"`
	// NotShown are granted resources about which the logs have no request, although components of
	// each cluster send such requests all the time. So Unused leaves them out.
	NotShown []string `json:"notShown,omitempty"`
	// NotServed are the API groups of granted rights that the server does not serve. The report
	// leaves these rights out.
	NotServed []string `json:"notServed,omitempty"`
	// NoReads is true if the logs have no reads. Then Unused leaves out the verbs of reads.
	NoReads bool `json:"noReads,omitempty"`
	// NoPermissions is true if the server publishes no permissions. Then Coarse is not known.
	NoPermissions bool `json:"noPermissions,omitempty"`
	// NoFields is true if the logs show no changed fields. Then Coarse is not known.
	NoFields bool `json:"noFields,omitempty"`
}

// Options select what a report is about.
type Options struct {
	// All includes built-in bindings, whose names begin with system:.
	All bool
	// Subjects are the subjects that the report is about, or nil for all subjects.
	Subjects []rbacv1.Subject
	// Groups are the API groups that the server serves.
	Groups []string
}

// concernsUser reports whether the report is about the subject of requests.
func (o *Options) concernsUser(s *learn.Subject) bool {
	return o.Subjects == nil || slices.ContainsFunc(o.Subjects, func(wanted rbacv1.Subject) bool {
		return access.IsSubject(wanted, wanted.Namespace, s.Users[0], s.Groups)
	})
}

// concerns reports whether the report is about a subject of a binding. users are those that the
// binding includes and that sent requests.
func (o *Options) concerns(g access.GrantedRule, users []*learn.Subject) bool {
	return o.Subjects == nil || slices.ContainsFunc(users, o.concernsUser) ||
		slices.ContainsFunc(o.Subjects, func(wanted rbacv1.Subject) bool {
			name, groups := access.Identity(wanted)
			return slices.ContainsFunc(g.Subjects, func(bound rbacv1.Subject) bool { return access.IsSubject(bound, g.Namespace, name, groups) })
		})
}

// served returns a rule without the API groups that the server does not serve, and these groups.
func (o *Options) served(rule rbacv1.PolicyRule) (rbacv1.PolicyRule, []string) {
	var left []string
	rule.APIGroups = slices.DeleteFunc(slices.Clone(rule.APIGroups), func(group string) bool {
		if group == rbacv1.APIGroupAll || slices.Contains(o.Groups, group) {
			return false
		}
		left = append(left, group)
		return true
	})
	return rule, left
}

// New compares the usage of subjects with their rules.
func New(ctx context.Context, l *learn.Learner, rbac *access.RBAC, trees learn.Trees, options Options) (*Report, error) {
	out := &Report{Requests: l.Learned, Paths: l.Paths.Requests, Coarse: []Coarse{}, Unused: []Unused{}, Wildcards: []Wildcard{},
		NoReads: l.Reads == 0, NoFields: l.Writes > 0 && l.Shown == 0}
	for _, s := range l.Subjects() {
		if !options.concernsUser(s) {
			continue
		}
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
		if len(g.Rule.Resources) == 0 || !options.All && strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "system:") {
			continue
		}
		users := usersOf(g, l.Subjects())
		if !options.concerns(g, users) {
			continue
		}
		served, left := options.served(g.Rule)
		for _, group := range left {
			if !slices.Contains(out.NotServed, group) {
				out.NotServed = append(out.NotServed, group)
			}
		}
		if g.Rule = served; len(g.Rule.APIGroups) == 0 {
			continue
		}
		if used := UsedOfWildcard(ctx, g, users); len(used) > 0 {
			out.Wildcards = append(out.Wildcards, Wildcard{g.Binding, g.Role, subjectsOf(g), g.Rule.APIGroups, g.Rule.Resources, g.Rule.Verbs, used})
		}
		judged, unknown := l.Judged(g.Rule)
		for _, resource := range unknown {
			if !slices.Contains(out.NotShown, resource.String()) {
				out.NotShown = append(out.NotShown, resource.String())
			}
		}
		if g.Rule = judged; len(g.Rule.Verbs) > 0 {
			out.Unused = append(out.Unused, unused(ctx, g, users)...)
		}
	}
	slices.Sort(out.NotShown)
	slices.Sort(out.NotServed)
	// The rules of which most was used come last.
	slices.SortStableFunc(out.Wildcards, func(a, b Wildcard) int { return cmp.Compare(len(a.Used), len(b.Used)) })
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
	resource, sub := w.Resource()
	tree, err := trees.Tree(resource, sub)
	if err != nil || tree == nil || len(w.Verbs) == 0 && !w.Known {
		return nil
	}
	c := &Coarse{Subject: s.String(), Namespace: w.Key.Namespace, Resource: kinds.Qualified(w.Key.Group, w.Key.Resource),
		Needs: w.Verbs, Sure: w.Known}
	target := access.Target{Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Subresource: sub,
		Namespace: w.Key.Namespace}
	for _, h := range held {
		if h.Namespace != "" && h.Namespace != target.Namespace || len(h.Rule.ResourceNames) > 0 {
			continue
		}
		for _, verb := range []string{"update", "patch"} {
			if access.Grants(h.Rule, verb, target) && !slices.Contains(c.Holds, verb) {
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
func countCovered(tree *schema.Tree, verbs []string) (covered, all int) {
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

// isWildcard reports whether a rule has * as a verb, a resource or an API group.
func isWildcard(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Verbs, rbacv1.VerbAll) || slices.Contains(rule.Resources, rbacv1.ResourceAll) ||
		slices.Contains(rule.APIGroups, rbacv1.APIGroupAll)
}

// subjectsOf returns the names of the subjects of a binding.
func subjectsOf(g access.GrantedRule) []string {
	out := []string{}
	for _, bound := range g.Subjects {
		if bound.Kind == rbacv1.ServiceAccountKind {
			bound.Namespace = cmp.Or(bound.Namespace, g.Namespace)
		}
		out = append(out, roles.FormatSubject(bound))
	}
	return out
}

// usersOf returns the subjects that a binding includes. A subject whose groups are not known may be
// in any group.
func usersOf(g access.GrantedRule, subjects []*learn.Subject) []*learn.Subject {
	var users []*learn.Subject
	for _, s := range subjects {
		if slices.ContainsFunc(g.Subjects, func(bound rbacv1.Subject) bool {
			return access.IsSubject(bound, g.Namespace, s.Users[0], s.Groups) || bound.Kind == rbacv1.GroupKind && s.GroupsUnknown
		}) {
			users = append(users, s)
		}
	}
	return users
}

// UsedOfWildcard returns what users used of a granted rule with *, sorted by resource. It returns nil
// for a rule without *.
func UsedOfWildcard(ctx context.Context, g access.GrantedRule, users []*learn.Subject) []Used {
	if !isWildcard(g.Rule) {
		return nil
	}
	verbs := map[string][]string{}
	for _, s := range users {
		for resource, used := range s.UsedOf(ctx, g.Rule, g.Namespace) {
			key := kinds.Qualified(resource.Group, resource.Resource)
			verbs[key] = append(verbs[key], used...)
		}
	}
	var out []Used
	for _, resource := range slices.Sorted(maps.Keys(verbs)) {
		if all := slices.Compact(slices.Sorted(slices.Values(verbs[resource]))); len(all) > 0 {
			out = append(out, Used{resource, all})
		}
	}
	return out
}

// unused returns the parts of a granted rule that none of its users used: the resources for which no
// verb of the rule was used, and the verbs that were not used for any of the remaining resources.
func unused(ctx context.Context, g access.GrantedRule, users []*learn.Subject) []Unused {
	out := Unused{Binding: g.Binding, Role: g.Role, Groups: g.Rule.APIGroups, Subjects: subjectsOf(g)}
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
