// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Match selects reviews. An empty list matches every value. A value that ends in "*" matches all
// values with that prefix.
type Match struct {
	// Users and Groups match a caller that is one of the users or a member of one of the groups. If
	// both are empty, they match every caller.
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// ExceptUsers and ExceptGroups exclude callers that Users and Groups would match.
	ExceptUsers  []string `json:"exceptUsers,omitempty"`
	ExceptGroups []string `json:"exceptGroups,omitempty"`

	// Verbs are verbs as the server sends them: "update", "granular",
	// "granular:label(example.com)".
	Verbs []string `json:"verbs,omitempty"`

	// APIGroups, Resources, Namespaces and Names match requests for objects. Resources are written
	// as in a role, such as "deployments/scale"; "deployments/*" matches all subresources. If a
	// review has no object name, Names is compared with "".
	APIGroups  []string `json:"apiGroups,omitempty"`
	Resources  []string `json:"resources,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`

	// Paths match requests to non-resource URLs, such as "/metrics". A match with paths matches no
	// requests for objects.
	Paths []string `json:"paths,omitempty"`
}

// validate returns an error if the match has both paths and fields of objects, because then no
// review can match.
func (m Match) validate() error {
	if len(m.Paths) > 0 && m.matchesObjects() {
		return errors.New("paths can't be combined with apiGroups, resources, namespaces or names: a request is for a path or for an object")
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

// matchesCaller reports whether the match includes the caller of a review.
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
