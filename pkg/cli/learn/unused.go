// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/included"
)

// Used reports whether the subject ever used a verb of a rule for a resource of the rule. If
// namespace is not "", only requests in this namespace count. If resource is not "", only requests
// for this resource of the rule count.
func (s *Subject) Used(ctx context.Context, rule rbacv1.PolicyRule, namespace, verb, resource string) bool {
	if resource != "" {
		rule.Resources = []string{resource}
	}
	for p, u := range s.usages {
		if namespace != "" && p.Namespace != namespace && !s.Everywhere || !p.coveredBy(&rule) {
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

// coveredBy reports whether a rule is about the resource of a key.
func (p ResourceKey) coveredBy(rule *rbacv1.PolicyRule) bool {
	resource, sub := p.split()
	return access.Covers(rule, &access.Target{Group: p.Group, Resource: resource, Subresource: sub})
}

// used reports whether a request had the verb, or a change that the verb covers. It is true for the
// verb of a permission if the log does not show the fields of a request, which may have needed it.
func (n *needs) used(ctx context.Context, verb string) bool {
	switch {
	case verb == "*":
		return len(n.asked) > 0
	case n.asked[verb] || n.named[verb] != nil:
		return true
	case verb == permission.General:
		return n.asked["update"] || n.asked["patch"]
	case isPermissionVerb(verb) && len(n.unknown) > 0:
		return true
	}
	for _, c := range n.sets {
		for i := range c.set {
			change := &c.set[i]
			for _, p := range change.Node.Chain() {
				if change.Uses(ctx, nil, p, verb) {
					return true
				}
			}
		}
	}
	return false
}

// isPermissionVerb reports whether a verb is that of a permission of fields.
func isPermissionVerb(verb string) bool {
	v, err := permission.Parse(verb)
	return err == nil && v.Permission != "" && !permission.Reserved(v.Permission)
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

// UsedOf returns what the subject used of a rule: the verbs of its requests, by resource, in the
// format of a role. namespace is as for Used.
func (s *Subject) UsedOf(ctx context.Context, rule rbacv1.PolicyRule, namespace string) map[schema.GroupResource][]string {
	out := map[schema.GroupResource][]string{}
	for p, u := range s.usages {
		one := schema.GroupResource{Group: p.Group, Resource: p.Resource}
		verbs := map[string]bool{}
		for _, n := range append(slices.Collect(maps.Values(u.names)), u.unnamed) {
			for verb := range n.asked {
				verbs[verb] = true
			}
			for verb := range n.named {
				verbs[verb] = true
			}
		}
		for verb := range verbs {
			narrow := rule
			narrow.APIGroups, narrow.Resources = []string{p.Group}, []string{p.Resource}
			if !slices.Contains(out[one], verb) && access.ContainsOrAll(rule.Verbs, verb) && p.coveredBy(&rule) &&
				s.Used(ctx, narrow, namespace, verb, "") {
				out[one] = append(out[one], verb)
			}
		}
	}
	for one := range out {
		slices.Sort(out[one])
	}
	return out
}

// seen is what the logs have about a resource, of all users.
type seen struct{ reads, writes bool }

// count counts what kinds of events the logs have.
func (l *Learner) count(e *event) {
	read := slices.Contains(readVerbs, e.Verb)
	if e.ObjectRef != nil && e.ObjectRef.Resource != "" {
		key := schema.GroupResource{Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource}
		if l.seen[key] == nil && len(l.seen) < maxSeen {
			l.seen[key] = &seen{}
		}
		if record := l.seen[key]; record != nil {
			record.reads, record.writes = record.reads || read, record.writes || !read
		}
	}
	switch {
	case read:
		l.Reads++
	case e.Verb == "update" || e.Verb == "patch":
		if e.succeeded() && e.ObjectRef != nil {
			l.Writes++
			if len(e.RequestObject) > 0 || e.Annotations[permissionsAnnotation] != "" {
				l.Shown++
			}
		}
	}
}

// maxSeen is the maximum number of resources of which is known what the logs have about them.
const maxSeen = 10000

var (
	readVerbs = []string{"get", "list", "watch"}
	// verbsOfReads are the verbs that can authorize a read.
	verbsOfReads = append([]string{included.MetadataVerb}, readVerbs...)
	// requestVerbs are the verbs of requests, which logs show.
	requestVerbs = append([]string{"create", "update", "patch", "delete", "deletecollection"}, readVerbs...)
	// oftenOmitted are the resources that audit policies usually leave out, because components of each
	// cluster write them all the time. So if the logs have no request about one, its use is not known.
	oftenOmitted = []schema.GroupResource{
		{Group: "coordination.k8s.io", Resource: "leases"}, {Group: "events.k8s.io", Resource: "events"}, {Resource: "events"},
	}
	// impersonated are the resources of the verb impersonate.
	impersonated = []string{"users", "groups", "serviceaccounts", "uids", "userextras"}
)

// Judged returns a rule without what the logs can't judge, and the resources that it left out. Logs
// can show that nobody used the verb of a request, or a permission of fields, or that nobody
// impersonated somebody. They can't show that for other verbs, such as bind and approve, which the
// server asks for during requests with other verbs. Logs without reads can't show it for the verbs of
// reads, nor logs without a resource for the resource.
func (l *Learner) Judged(rule rbacv1.PolicyRule) (judged rbacv1.PolicyRule, left []schema.GroupResource) {
	judged = rule
	judged.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return !l.judges(rule, v) })
	judged.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool {
		name, _, _ := strings.Cut(r, "/")
		for _, omitted := range oftenOmitted {
			if name == omitted.Resource && access.ContainsOrAll(rule.APIGroups, omitted.Group) && !l.shows(omitted, judged.Verbs) {
				left = append(left, omitted)
				return true
			}
		}
		return false
	})
	if len(judged.Resources) == 0 {
		judged.Verbs = nil
	}
	return judged, left
}

// judges reports whether the logs can show that a verb of a rule was never used.
func (l *Learner) judges(rule rbacv1.PolicyRule, verb string) bool {
	switch {
	case slices.Contains(verbsOfReads, verb) || verb == rbacv1.VerbAll:
		return l.Reads > 0
	case slices.Contains(requestVerbs, verb) || verb == permission.General:
		return true
	case verb == impersonate:
		return !slices.ContainsFunc(rule.Resources, func(r string) bool {
			name, _, _ := strings.Cut(r, "/")
			return r != rbacv1.ResourceAll && !slices.Contains(impersonated, name)
		})
	}
	return isPermissionVerb(verb)
}

// shows reports whether the logs have requests about a resource of the kind that some verbs allow.
func (l *Learner) shows(resource schema.GroupResource, verbs []string) bool {
	record := l.seen[resource]
	return record != nil && !slices.ContainsFunc(verbs, func(v string) bool {
		return slices.Contains(verbsOfReads, v) && !record.reads || !slices.Contains(verbsOfReads, v) && !record.writes
	})
}
