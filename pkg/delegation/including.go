// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/included"
)

// Includes reports whether the requests for which allowed returns true include the request a, which has a
// granular verb or the verb readmetadata. That means: a user who is allowed these requests counts as allowed a, too. They differ from
// a only in the verb: they are those with the ordinary verbs, such as update and patch, or with the verbs
// of more general permissions. Includes returns false if a has another verb.
func Includes(a authorizer.Attributes, allowed func(authorizer.Attributes) bool) bool {
	if !a.IsResourceRequest() || !permission.IsVerb(a.GetVerb()) && a.GetVerb() != included.MetadataVerb {
		return false
	}
	resource := a.GetResource()
	if sub := a.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	return included.Includes(a.GetVerb(), a.GetAPIGroup(), resource, func(verb string) bool {
		return allowed(withVerb{a, verb})
	})
}

// allowsOrIncludes reports whether the scope and the rules of the delegation allow the request a, or
// requests that include it.
func (d *Delegation) allowsOrIncludes(a authorizer.Attributes) bool {
	return d.allows(a) || Includes(a, d.allows)
}
