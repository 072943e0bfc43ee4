// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/roles"
)

// ResourceKey is a resource or subresource in a namespace. Namespace is empty for a cluster-scoped
// resource, or for all namespaces together if the subject used too many.
type ResourceKey struct {
	Namespace string `json:"namespace,omitempty"`
	Group     string `json:"group,omitempty"`
	// Resource is written as in a role: pods, pods/exec.
	Resource string `json:"resource"`
	// impersonation is true for what a subject impersonated. Names of these are not joined: a role
	// for all names would allow impersonating anybody.
	impersonation bool
}

// split returns the resource and the subresource, which may be "".
func (p ResourceKey) split() (resource, subresource string) {
	resource, subresource, _ = strings.Cut(p.Resource, "/")
	return resource, subresource
}

func (p ResourceKey) compare(q ResourceKey) int {
	return slices.Compare([]string{p.Namespace, p.Group, p.Resource, fmt.Sprint(p.impersonation)},
		[]string{q.Namespace, q.Group, q.Resource, fmt.Sprint(q.impersonation)})
}

// The limits for one subject.
const (
	// MaxNames is the maximum number of object names of one resource in one namespace. If there are
	// more, the rule is for all names.
	MaxNames = 10
	// MaxNamespaces is the maximum number of namespaces. If there are more, the rules are for all
	// namespaces.
	MaxNamespaces = 20
	// MaxImpersonated is the maximum number of users, groups, UIDs and extra attributes each that the
	// rules allow a subject to impersonate. Further ones are counted and left out.
	MaxImpersonated = 200
	// maxGroups is the maximum number of users, and of groups, that are kept of a subject.
	maxGroups = 200
)

// Subject is a user, a service account or a group, with the permissions that its requests needed.
type Subject struct {
	rbacv1.Subject
	// Users are the users whose requests are attributed to the subject, and Groups are their
	// groups. Both have at most maxGroups entries.
	Users, Groups []string
	// Everywhere is true if the subject was active in more than MaxNamespaces namespaces.
	Everywhere bool
	// Refused is the number of requests with the status 401 or 403.
	Refused int
	// Delegated is the number of requests that the subject made under a delegation. They used the
	// authority of others, and so need no rights of the subject.
	Delegated int
	// GroupsUnknown is true if requests under a delegation of the subject are attributed to it. The
	// log does not have the groups that the subject had.
	GroupsUnknown bool
	// NotImpersonated is the number of impersonations that the rules leave out, because the subject
	// impersonated more than MaxImpersonated.
	NotImpersonated int
	// Missing is the number of writes of objects that do not exist.
	Missing int
	// Rehearsed is the number of questions of this plugin, such as dry runs, which no rule is for.
	Rehearsed int
	// Paths are the requests without a resource, which no rule is for.
	Paths Paths
	// Attempted is the number of refused requests that the rules allow, with Options.Refused. Those
	// that are not learned, although the authorizer refused them, are NotAttempted.
	Attempted, NotAttempted int

	usages     map[ResourceKey]*usage
	namespaces map[string]bool
	attempts   map[attempt]*attempted
}

// usage has the permissions that a subject needed for a resource: by object name, and those of
// requests without a name.
type usage struct {
	names   map[string]*needs
	unnamed *needs
	// anyName is true if all names were merged into unnamed, because there were more than MaxNames.
	anyName bool
	// version is the API version of the last write.
	version string
}

func newSubject(who rbacv1.Subject) *Subject {
	return &Subject{Subject: who, usages: map[ResourceKey]*usage{}, namespaces: map[string]bool{}, attempts: map[attempt]*attempted{}}
}

// String returns the subject in the format of roles.ParseSubject.
func (s *Subject) String() string { return roles.FormatSubject(s.Subject) }

// addIdentity adds a user and its groups to the identities of the subject.
func (s *Subject) addIdentity(u user) {
	keep := func(all []string, one string) []string {
		if len(all) >= maxGroups || slices.Contains(all, one) {
			return all
		}
		return append(all, one)
	}
	s.Users = keep(s.Users, u.Username)
	for _, g := range u.Groups {
		s.Groups = keep(s.Groups, g)
	}
}

// needsFor returns the needs of the subject for an object name of a resource, and creates them if
// there are none. If a limit is exceeded, it first merges the needs of all names or namespaces.
func (s *Subject) needsFor(ctx context.Context, p ResourceKey, name string) *needs {
	if p.impersonation {
		return s.impersonationNeeds(p, name)
	}
	if p.Namespace != "" && !s.Everywhere {
		if s.namespaces[p.Namespace] = true; len(s.namespaces) > MaxNamespaces {
			s.mergeNamespaces(ctx)
		}
	}
	if s.Everywhere {
		p.Namespace = ""
	}
	if s.usages[p] == nil {
		s.usages[p] = &usage{names: map[string]*needs{}, unnamed: newNeeds()}
	}
	return s.usages[p].needsFor(ctx, name)
}

// impersonationNeeds returns the needs of the subject for what it impersonated. Above the limit, it
// returns needs that belong to no rule.
func (s *Subject) impersonationNeeds(p ResourceKey, name string) *needs {
	if name == "" {
		return newNeeds() // a rule without a name would be one for all names
	}
	u := s.usages[p]
	if u == nil {
		u = &usage{names: map[string]*needs{}, unnamed: newNeeds()}
		s.usages[p] = u
	}
	if u.names[name] == nil {
		if len(u.names) == MaxImpersonated {
			s.NotImpersonated++
			return newNeeds()
		}
		u.names[name] = newNeeds()
	}
	return u.names[name]
}

// usage returns the usage of a resource, which must exist.
func (s *Subject) usage(p ResourceKey) *usage {
	if s.Everywhere {
		p.Namespace = ""
	}
	return s.usages[p]
}

func (u *usage) needsFor(ctx context.Context, name string) *needs {
	if name == "" || u.anyName {
		return u.unnamed
	}
	if u.names[name] == nil {
		if len(u.names) == MaxNames {
			u.mergeNames(ctx)
			return u.unnamed
		}
		u.names[name] = newNeeds()
	}
	return u.names[name]
}

// mergeNames merges the needs of all object names into unnamed.
func (u *usage) mergeNames(ctx context.Context) {
	for _, n := range u.names {
		u.unnamed.merge(ctx, n)
	}
	u.names, u.anyName = nil, true
}

// mergeNamespaces merges the usage of each resource in all namespaces.
func (s *Subject) mergeNamespaces(ctx context.Context) {
	s.Everywhere = true
	old := s.usages
	s.usages, s.namespaces = map[ResourceKey]*usage{}, nil
	for p, u := range old {
		if p.impersonation {
			s.usages[p] = u
			continue
		}
		if p.Namespace != "" {
			// A name is dropped together with its namespace, because the same name in two
			// namespaces means two objects.
			u.mergeNames(ctx)
		}
		p.Namespace = ""
		target := s.usages[p]
		if target == nil {
			s.usages[p] = u
			continue
		}
		target.mergeNames(ctx)
		u.mergeNames(ctx)
		target.unnamed.merge(ctx, u.unnamed)
		target.version = u.version
	}
}
