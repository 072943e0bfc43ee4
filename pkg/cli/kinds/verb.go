// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"kube-granular.dev/granular/permission"
	granular "kube-granular.dev/granular/schema"
)

// VerbOf returns the verb of a permission. In place of a parameter it has a description in angle
// brackets, which no real verb has: granular:label(<label-key prefix>).
func VerbOf(p *granular.Permission) string {
	verb := permission.Verb{Permission: p.Name}.String()
	if p.Parameter == nil {
		return verb
	}
	return verb + "(<" + parameterOf(p) + ">)"
}

// parameterOf returns the description of a parameter.
func parameterOf(p *granular.Permission) string {
	source := p.Parameter.Source
	if p.Parameter.FromValue {
		if source = "value"; p.Parameter.Field != "" {
			source += " of " + p.Parameter.Field
		}
	}
	switch {
	case p.Parameter.Expression != nil:
		return "computed from " + source
	case p.Parameter.Treatment == permission.SlashDelimitedPrefix:
		return source + " prefix"
	case p.Parameter.Treatment == permission.ImageRepositoryPrefix:
		return "registry and repository prefix"
	}
	return source
}

// NarrowestVerb returns the verb of the narrowest permission, "" if there is none.
func NarrowestVerb(permissions []*granular.Permission) string {
	if len(permissions) == 0 {
		return ""
	}
	return VerbOf(permissions[len(permissions)-1])
}
