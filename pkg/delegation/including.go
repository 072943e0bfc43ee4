// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/pkg/included"
)

// IncludingRequests returns the requests with ordinary verbs, such as update and patch, that
// together include the request a, which has a granular verb. That means: a user who is allowed all
// of the returned requests counts as allowed a, too. It returns nil if a has no granular verb, or
// if no ordinary verbs are known to include the verb of a.
func IncludingRequests(a authorizer.Attributes) []authorizer.Attributes {
	if !a.IsResourceRequest() || !IsPermission(a.GetVerb()) {
		return nil
	}
	resource := a.GetResource()
	if sub := a.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	var out []authorizer.Attributes
	for _, v := range included.Ordinary(a.GetVerb(), a.GetAPIGroup(), resource) {
		out = append(out, withVerb{a, v})
	}
	return out
}

// allowsOrIncludes reports whether the scope and the rules of the delegation allow the request a,
// or allow all of the requests that IncludingRequests returns for a.
func (d *Delegation) allowsOrIncludes(a authorizer.Attributes) bool {
	if d.allows(a) {
		return true
	}
	instead := IncludingRequests(a)
	return len(instead) > 0 && !slices.ContainsFunc(instead, func(a authorizer.Attributes) bool { return !d.allows(a) })
}
