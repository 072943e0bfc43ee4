// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Place is a resource or subresource in a namespace. Namespace is empty for what lies in none,
// and where there are too many namespaces to tell apart.
type Place struct {
	Namespace string `json:"namespace,omitempty"`
	Group     string `json:"group,omitempty"`
	// Resource is written as in a role: pods, pods/exec.
	Resource string `json:"resource"`
}

// split returns the resource, and the subresource or "".
func (p Place) split() (resource, subresource string) {
	resource, subresource, _ = strings.Cut(p.Resource, "/")
	return resource, subresource
}

func (p Place) compare(q Place) int {
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

	places     map[Place]*usage
	namespaces map[string]bool
}

// usage is what was needed for the objects of a resource, by their names, and for those of no
// known name.
type usage struct {
	names map[string]*needs
	any   *needs
	// many is set past MaxNames.
	many bool
	// version is that of the API in which objects were last written.
	version string
}

func newSubject(who rbacv1.Subject) *Subject {
	return &Subject{Subject: who, places: map[Place]*usage{}, namespaces: map[string]bool{}}
}

// String names the subject as roles.ParseSubject reads it.
func (s *Subject) String() string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return "serviceaccount:" + s.Namespace + "/" + s.Name
	}
	return strings.ToLower(s.Kind) + ":" + s.Name
}

// saw keeps who the subject is to authorizers.
func (s *Subject) saw(u user) {
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

// at returns the needs of a place and name.
func (s *Subject) at(ctx context.Context, p Place, name string) *needs {
	if p.Namespace != "" && !s.Everywhere {
		if s.namespaces[p.Namespace] = true; len(s.namespaces) > MaxNamespaces {
			s.everywhere(ctx)
		}
	}
	if s.Everywhere {
		p.Namespace = ""
	}
	if s.places[p] == nil {
		s.places[p] = &usage{names: map[string]*needs{}, any: newNeeds()}
	}
	return s.places[p].at(ctx, name)
}

// usage returns that of a place which is there.
func (s *Subject) usage(p Place) *usage {
	if s.Everywhere {
		p.Namespace = ""
	}
	return s.places[p]
}

func (u *usage) at(ctx context.Context, name string) *needs {
	if name == "" || u.many {
		return u.any
	}
	if u.names[name] == nil {
		if len(u.names) == MaxNames {
			u.all(ctx)
			return u.any
		}
		u.names[name] = newNeeds()
	}
	return u.names[name]
}

// all forgets which names there are.
func (u *usage) all(ctx context.Context) {
	for _, n := range u.names {
		u.any.merge(ctx, n)
	}
	u.names, u.many = nil, true
}

// everywhere forgets which namespaces there are.
func (s *Subject) everywhere(ctx context.Context) {
	s.Everywhere = true
	old := s.places
	s.places, s.namespaces = map[Place]*usage{}, nil
	for p, u := range old {
		if p.Namespace != "" {
			// The same name in two namespaces is no one object.
			u.all(ctx)
		}
		p.Namespace = ""
		into := s.places[p]
		if into == nil {
			s.places[p] = u
			continue
		}
		into.all(ctx)
		u.all(ctx)
		into.any.merge(ctx, u.any)
		into.version = u.version
	}
}
