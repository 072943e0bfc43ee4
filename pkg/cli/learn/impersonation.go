// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kube-granular.dev/api/selection"
)

// impersonate is the verb that allows impersonation without a constraint.
const impersonate = "impersonate"

// impersonated counts the verbs that a subject needed to impersonate a user. The server asks for a
// verb on the user, and on each group, UID and extra attribute. If a constraint allowed the
// impersonation, this verb is the constraint, and the server also asks for a second verb on the
// resource of the request, such as impersonate-on:user-info:list.
func (l *Learner) impersonated(ctx context.Context, s *Subject, e *event) {
	target, verb, group := e.ImpersonatedUser, impersonate, ""
	constraint := e.Authentication.ImpersonationConstraint
	if constraint != "" {
		verb, group = constraint, authenticationv1.GroupName
		second := "impersonate-on:" + strings.TrimPrefix(constraint, impersonate+":") + ":" + e.Verb
		n := s.needsFor(ctx, keyOf(e.ObjectRef), authorizedName(e))
		n.asked[second] = true
		countUse(n.ordinary, second, e)
	}
	count := func(key ResourceKey, name string) {
		key.impersonation = true
		n := s.needsFor(ctx, key, name)
		n.asked[verb] = true
		countUse(n.ordinary, verb, e)
	}
	// The server adds these groups itself.
	implied := []string{"system:authenticated"}
	namespace, account, isAccount := parseServiceAccount(target.Username)
	node, isNode := strings.CutPrefix(target.Username, "system:node:")
	switch {
	case isAccount:
		count(ResourceKey{Namespace: namespace, Group: group, Resource: "serviceaccounts"}, account)
		implied = append(implied, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	case isNode && constraint != "":
		if constraint == "impersonate:associated-node" {
			node = "*" // the server asks for this name, whichever the node is
		}
		count(ResourceKey{Group: group, Resource: "nodes"}, node)
		implied = append(implied, "system:nodes")
	default:
		count(ResourceKey{Group: group, Resource: "users"}, target.Username)
		if target.Username == "system:anonymous" {
			implied = append(implied, "system:unauthenticated")
		}
	}
	for _, g := range target.Groups {
		if !slices.Contains(implied, g) {
			count(ResourceKey{Group: group, Resource: "groups"}, g)
		}
	}
	if target.UID != "" {
		count(ResourceKey{Group: authenticationv1.GroupName, Resource: "uids"}, target.UID)
	}
	for _, key := range slices.Sorted(maps.Keys(target.Extra)) {
		if key == selection.ExtraKey {
			continue // the server writes this one itself
		}
		for _, value := range target.Extra[key] {
			count(ResourceKey{Group: authenticationv1.GroupName, Resource: "userextras/" + key}, value)
		}
	}
}

// parseServiceAccount splits the user name of a service account.
func parseServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}
