// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import "strings"

// IsPattern reports whether a rule with a verb, a group and a resource would stand for others too, because one of them is *,
// or a form such as */scale. No server has such a resource, but a client may ask for one.
func IsPattern(verb, group, resource string) bool {
	return verb == "*" || group == "*" || resource == "*" || strings.HasPrefix(resource, "*/")
}
