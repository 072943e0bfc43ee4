// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/pkg/included"
)

// IncludingRequests returns the requests, by ordinary verbs, that together include a request by a
// permission verb. It returns nil if none are known to include it.
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

// allowsOrIncludes reports whether the rules allow a request, or the requests that include it.
func (d *Delegation) allowsOrIncludes(a authorizer.Attributes) bool {
	if d.allows(a) {
		return true
	}
	instead := IncludingRequests(a)
	return len(instead) > 0 && !slices.ContainsFunc(instead, func(a authorizer.Attributes) bool { return !d.allows(a) })
}
