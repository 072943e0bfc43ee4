// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// ResourceKey is a resource or subresource in a namespace. Namespace is empty for what lies in none,
// and where there are too many namespaces to tell apart.
type ResourceKey struct {
	Namespace string `json:"namespace,omitempty"`
	Group     string `json:"group,omitempty"`
	// Resource is written as in a role: pods, pods/exec.
	Resource string `json:"resource"`
}

// split returns the resource, and the subresource or "".
func (p ResourceKey) split() (resource, subresource string) {
	resource, subresource, _ = strings.Cut(p.Resource, "/")
	return resource, subresource
}

func (p ResourceKey) compare(q ResourceKey) int {
	return slices.Compare([]string{p.Namespace, p.Group, p.Resource}, []string{q.Namespace, q.Group, q.Resource})
}

// The bounds of what is told apart for one subject.
const (
	// MaxNames is how many names of one resource in one namespace there may be. Past it the
	// rule is for all names.
	MaxNames = 10
	// MaxNamespaces is how many namespaces there may be. Past it the rules are for all of them.
	MaxNamespaces = 20
	// maxGroups is how many users and groups of a subject are kept.
	maxGroups = 200
)

// Subject is a user, a service account or a group, and what its requests needed.
type Subject struct {
	rbacv1.Subject
	// Users are those whose requests count, the first of them, and Groups those that they were
	// in.
	Users, Groups []string
	// Everywhere is set where the subject was active in more than MaxNamespaces.
	Everywhere bool
	// Refused is how many requests were forbidden.
	Refused int

	usages     map[ResourceKey]*usage
	namespaces map[string]bool
}

// usage is what was needed for the objects of a resource, by their names, and for those of no
// known name.
type usage struct {
	names   map[string]*needs
	unnamed *needs
	// anyName is set past MaxNames.
	anyName bool
	// version is that of the API in which objects were last written.
	version string
}

func newSubject(who rbacv1.Subject) *Subject {
	return &Subject{Subject: who, usages: map[ResourceKey]*usage{}, namespaces: map[string]bool{}}
}

// String names the subject as roles.ParseSubject reads it.
func (s *Subject) String() string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return "serviceaccount:" + s.Namespace + "/" + s.Name
	}
	return strings.ToLower(s.Kind) + ":" + s.Name
}

// addIdentity keeps who the subject is to authorizers.
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

// needsFor returns the needs of a place and name.
func (s *Subject) needsFor(ctx context.Context, p ResourceKey, name string) *needs {
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

// usage returns that of a place which is there.
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

// mergeNames forgets which names there are.
func (u *usage) mergeNames(ctx context.Context) {
	for _, n := range u.names {
		u.unnamed.merge(ctx, n)
	}
	u.names, u.anyName = nil, true
}

// mergeNamespaces forgets which namespaces there are.
func (s *Subject) mergeNamespaces(ctx context.Context) {
	s.Everywhere = true
	old := s.usages
	s.usages, s.namespaces = map[ResourceKey]*usage{}, nil
	for p, u := range old {
		if p.Namespace != "" {
			// The same name in two namespaces is no one object.
			u.mergeNames(ctx)
		}
		p.Namespace = ""
		into := s.usages[p]
		if into == nil {
			s.usages[p] = u
			continue
		}
		into.mergeNames(ctx)
		u.mergeNames(ctx)
		into.unnamed.merge(ctx, u.unnamed)
		into.version = u.version
	}
}
