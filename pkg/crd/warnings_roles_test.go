// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wildcards = "spec.versions: excluded permissions are not part of update, but the verb * on things.example.com, or on all resources, includes them; " +
	"who holds it: kubectl granular who-can '*' things.example.com"

// TestWarnsOfWildcards checks that an author is told once that the verb * opens what a definition
// excludes: when the definition gets its first exclusion, in any version and at any depth.
func TestWarnsOfWildcards(t *testing.T) {
	const (
		plain = `properties: {a: {type: string, +verb: example.com/a}, b: {type: object, properties: {c: {type: string, +verb: example.com/c}}}}`
		tmpl  = `properties: {a: {type: object, +scope: example.com/cell, +excluded: true, properties: {b: {type: string}}}}`
	)
	excluded := strings.Replace(plain, "example.com/a", "example.com/a, +excluded: true", 1)
	deeper := strings.Replace(plain, "example.com/c", "example.com/c, +excluded: true", 1)
	for name, test := range map[string]struct {
		old, new []string
		want     []string
	}{
		"a new definition":      {nil, []string{excluded}, []string{wildcards}},
		"the first one":         {[]string{plain}, []string{excluded}, []string{wildcards}},
		"the first one, deeper": {[]string{plain}, []string{deeper}, []string{wildcards}},
		"a scope":               {nil, []string{tmpl}, []string{wildcards}},
		"in a second version":   {[]string{plain}, []string{plain, excluded}, []string{wildcards}},
		"another one":           {[]string{excluded}, []string{strings.Replace(excluded, "example.com/c", "example.com/c, +excluded: true", 1)}, nil},
		"none":                  {nil, []string{plain}, nil},
		"none any more":         {[]string{excluded}, []string{plain}, nil},
	} {
		v := validator()
		old := definition(t, nil, test.old...)
		if test.old == nil {
			old = nil
		}
		if diff := cmp.Diff(test.want, v.Warnings(definition(t, nil, test.new...), old)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
