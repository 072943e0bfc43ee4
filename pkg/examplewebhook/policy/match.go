// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Match is which questions are meant. An empty list means any, and a value that ends in
// "*" means all that begin with what stands before it.
type Match struct {
	// Users and Groups say who is meant: a caller who is one of the users or a member of one
	// of the groups.
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// ExceptUsers and ExceptGroups say who is not meant.
	ExceptUsers  []string `json:"exceptUsers,omitempty"`
	ExceptGroups []string `json:"exceptGroups,omitempty"`

	// Verbs are as the server asks them: "update", "granular", "granular:label(example.com)".
	Verbs []string `json:"verbs,omitempty"`

	// What follows is about objects. Resources are written as in a role, "deployments/scale",
	// and "deployments/*" means all subresources. A question that names no object has the
	// name "".
	APIGroups  []string `json:"apiGroups,omitempty"`
	Resources  []string `json:"resources,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`

	// Paths are of requests that are about no object, like "/metrics". A match with paths
	// means no objects.
	Paths []string `json:"paths,omitempty"`
}

// validate returns an error where nothing can match.
func (m Match) validate() error {
	if len(m.Paths) > 0 && m.matchesObjects() {
		return errors.New("paths can't be set beside apiGroups, resources, namespaces or names: a request is about a path or about an object")
	}
	return nil
}

func (m Match) matchesObjects() bool {
	return len(m.APIGroups)+len(m.Resources)+len(m.Namespaces)+len(m.Names) > 0
}

func (m Match) matches(asked *authorizationv1.SubjectAccessReviewSpec) bool {
	if !m.matchesCaller(asked) {
		return false
	}
	if path := asked.NonResourceAttributes; path != nil {
		return !m.matchesObjects() && anyOf(m.Verbs, path.Verb) && anyOf(m.Paths, path.Path)
	}
	a := asked.ResourceAttributes
	if a == nil || len(m.Paths) > 0 {
		return false
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return anyOf(m.Verbs, a.Verb) && anyOf(m.APIGroups, a.Group) && anyOf(m.Resources, resource) &&
		anyOf(m.Namespaces, a.Namespace) && anyOf(m.Names, a.Name)
}

// matchesCaller reports whether the caller of a question is meant.
func (m Match) matchesCaller(asked *authorizationv1.SubjectAccessReviewSpec) bool {
	one := func(groups []string) bool {
		return slices.ContainsFunc(asked.Groups, func(group string) bool { return oneOf(groups, group) })
	}
	if oneOf(m.ExceptUsers, asked.User) || one(m.ExceptGroups) {
		return false
	}
	return len(m.Users)+len(m.Groups) == 0 || oneOf(m.Users, asked.User) || one(m.Groups)
}

func anyOf(patterns []string, value string) bool {
	return len(patterns) == 0 || oneOf(patterns, value)
}

func oneOf(patterns []string, value string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(value, beginning)
		}
		return pattern == value
	})
}
