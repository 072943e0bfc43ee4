// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// withoutFields are subresources and resources whose requests change no fields of an object. The server
// asks for no permission there.
var withoutFields = []string{
	"attach", "binding", "eviction", "exec", "finalizers", "log", "portforward", "proxy", "token",
	"bindings", "tokenreviews.authentication.k8s.io", "selfsubjectreviews.authentication.k8s.io",
	"subjectaccessreviews.authorization.k8s.io", "selfsubjectaccessreviews.authorization.k8s.io",
	"localsubjectaccessreviews.authorization.k8s.io", "selfsubjectrulesreviews.authorization.k8s.io",
}

// readThrough are the subresources that callers with the verb get use.
var readThrough = []string{"attach", "exec", "log", "portforward", "proxy"}

// hasFields reports whether granular requests can change fields through a resource, as far as is known.
// A custom resource may have any subresource except finalizers, which no server serves.
func hasFields(resource string) bool {
	plain, sub, found := strings.Cut(resource, "/")
	switch {
	case !found:
		return !slices.Contains(withoutFields, resource)
	case sub == "finalizers":
		return false
	case !IsBuiltIn(plain):
		return true
	}
	return IsBuiltIn(resource) && !slices.Contains(withoutFields, sub)
}

// endpoint adds a finding if permission verbs on a resource have no effect, because it has no fields. A
// rule may name such a resource for an ordinary verb, beside others for permission verbs.
func (c *checker) endpoint(i int, resource string, rule *rbacv1.PolicyRule, resources []string) {
	_, sub, _ := strings.Cut(resource, "/")
	ordinary := slices.ContainsFunc(rule.Verbs, func(verb string) bool {
		switch {
		case IsPermission(verb), verb == "list", verb == "watch":
			return false
		case verb == "get":
			return slices.Contains(readThrough, sub)
		}
		return true
	})
	if ordinary && slices.ContainsFunc(resources, hasFields) {
		return
	}
	hint := ""
	if sub == "finalizers" {
		hint = "; only the ordinary verb update has an effect, if the admission plugin OwnerReferencesPermissionEnforcement asks for it"
	}
	c.add(i, -1, false, "%s has no fields, so granular and permission verbs have no effect there%s", resource, hint)
}
