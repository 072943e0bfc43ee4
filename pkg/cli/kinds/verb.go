// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// VerbOf returns the verb of a permission. In place of a parameter it has a description in angle
// brackets, which no real verb has: granular:label(<label-key prefix>).
func VerbOf(p *schema.Permission) string {
	verb := permission.Verb{Permission: p.Name}.String()
	if p.Parameter == nil {
		return verb
	}
	return verb + "(<" + parameterOf(p) + ">)"
}

// parameterOf returns the description of a parameter.
func parameterOf(p *schema.Permission) string {
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
func NarrowestVerb(permissions []*schema.Permission) string {
	if len(permissions) == 0 {
		return ""
	}
	return VerbOf(permissions[len(permissions)-1])
}

// Covered returns the path of the fields that a verb covers at one place of its permission. A
// parameter replaces the key of the map or list that it selects from: granular:label(a) covers
// .metadata.labels[a] and [a/*], granular:containerImage(a) covers .spec.containers[a].image.
func Covered(info schema.Info, parameter string) string {
	param := info.Parameter
	if param == nil || parameter == "" {
		return info.Pattern
	}
	i := strings.LastIndex(info.Pattern, "[*]")
	if param.Expression != nil || i < 0 || param.FromValue && param.Field == "" {
		return fmt.Sprintf("%s, if the %s is %s", info.Pattern, parameterOf(info.Permission), parameter)
	}
	path, rest := info.Pattern[:i], info.Pattern[i+len("[*]"):]
	key, exact := param.Treatment.Key(parameter)
	if exact {
		parameter = key
	}
	switch {
	case param.FromValue:
		return fmt.Sprintf("%s[%s=%q]%s", path, param.Field, parameter, rest)
	case param.Treatment == permission.SlashDelimitedPrefix && !exact:
		return fmt.Sprintf("%s[%s]%s and [%s/*]%s", path, parameter, rest, parameter, rest)
	}
	return fmt.Sprintf("%s[%s]%s", path, parameter, rest)
}
