// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// held returns the CEL condition under which the caller holds a permission at a place.
func (e *emitter) held(p *schema.Permission, at place) (string, error) {
	if e.asked != nil {
		if held, ok := e.asked[p.Name]; ok {
			return held, nil
		}
		if p.Excluded {
			return always, nil
		}
		return never, nil
	}
	if p.Parameter == nil {
		return e.grants.holding(permission.Verb{Permission: p.Name}.String(), e.known), nil
	}
	parameters, condition := e.grants.parameters(p.Name, e.known)
	if len(parameters) == 0 {
		return never, nil
	}
	if p.Parameter.Expression != nil {
		return "", fmt.Errorf("the parameter of granular:%s is computed by an expression of the definition", p.Name)
	}
	test := func(value string) string {
		var tests []string
		for _, parameter := range parameters {
			tests = append(tests, and(condition[parameter], takes(p, parameter, value)))
		}
		return or(tests...)
	}
	if !p.Parameter.FromValue {
		keys := at.keys[p.Parameter.SourceDepth]
		if p.Parameter.SourceKey >= len(keys) {
			return "", fmt.Errorf("the parameter of granular:%s is of an element without a key", p.Name)
		}
		return test(keys[p.Parameter.SourceKey]), nil
	}
	// The caller must hold a verb for the old and for the new value, as far as they are there.
	side := func(value string) string {
		text := "string(" + value + ".value())"
		if p.Parameter.Field != "" {
			text = field(value+".value()", p.Parameter.Field) + `.orValue("")`
		}
		if value == nothing {
			return always
		}
		if strings.HasPrefix(value, "optional.of(") {
			return test(text)
		}
		return or("!"+value+".hasValue()", test(text))
	}
	return and(side(at.old), side(at.new)), nil
}

// takes returns the condition under which a parameter of a verb stands for a key or value.
func takes(p *schema.Permission, parameter, value string) string {
	switch t := p.Parameter.Treatment; t {
	case permission.ImageRepositoryPrefix:
		return ofRepository(parameter, value)
	case permission.SlashDelimitedPrefix:
		if key, exact := t.Key(parameter); exact {
			if p.Excluded {
				return never // has no verb for one key
			}
			return value + " == " + quote(key)
		}
		if strings.Contains(parameter, "/") {
			return never // no key has this parameter
		}
		return or(value+" == "+quote(parameter), value+".startsWith("+quote(parameter+"/")+")")
	}
	return value + " == " + quote(parameter)
}

// These are the parts of an image, as package permission accepts them.
const (
	component = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	tag       = `(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?`
	digest    = `(?:@(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?`
	// maxRepository is the length of the longest part before tag and digest.
	maxRepository = 255
)

// ofRepository returns the condition under which an image is of a registry, or of a repository that begins with
// the components of the prefix.
func ofRepository(prefix, image string) string {
	parts := strings.Count(prefix, "/") + 1
	least := max(0, 2-parts)
	if strings.HasPrefix(prefix+"/", "docker.io/") {
		least = max(0, 3-parts)
	}
	// A valid image with this prefix shows whether an image can have it.
	sample := prefix + strings.Repeat("/a", least)
	if parts > permission.MaxPrefixes || !slices.Contains(permission.ImageRepositoryPrefix.Parameters(sample), prefix) {
		return never
	}
	rest := "(?:/" + component + "){" + strconv.Itoa(least) + ",}"
	whole := "^" + regexp.QuoteMeta(prefix) + rest + tag + digest + "$"
	// The name before tag and digest has at most maxRepository bytes. A longer one goes on without a colon or @.
	registry, _, _ := strings.Cut(prefix, "/")
	long := "^" + regexp.QuoteMeta(registry) + "[^:@]{" + strconv.Itoa(maxRepository-len(registry)+1) + ",}"
	return and(image+".matches("+quote(whole)+")", "!"+image+".matches("+quote(long)+")")
}
