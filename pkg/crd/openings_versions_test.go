// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
)

const (
	guarded = `properties: {spec: {type: object, properties: {a: {type: string}, secret: {type: string, +verb: example.com/secret, +excluded: true}}}}`
	evil    = `properties: {spec: {type: object, properties: {a: {type: string}, secret: {type: string, default: evil, +verb: example.com/secret, +excluded: true}}}}`
	open    = `properties: {spec: {type: object, properties: {a: {type: string}, secret: {type: string}}}}`
	moved   = `properties: {spec: {type: object, properties: {a: {type: string}, other: {type: string, +verb: example.com/secret, +excluded: true}}}}`
	named   = `properties: {spec: {type: object, +verb: specification, properties: {a: {type: string}}}}`
	bare    = `properties: {spec: {type: object, properties: {a: {type: string}}}}`
	none    = "+verb: none\n" + bare
	broken  = `properties: {spec: {type: object, properties: {a: {type: string, +verb: Bad}, secret: {type: string, +verb: example.com/secret, +excluded: true}}}}`
	repairs = `properties: {spec: {type: object, properties: {a: {type: string}, secret: {type: string, +verb: example.com/secret, +excluded: true}}}}`
)

// edit changes a definition.
type edit = func(*apiextensionsv1.CustomResourceDefinition)

// unknown makes a definition keep fields that no schema has.
func unknown(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.PreserveUnknownFields = true }

// unused takes versions out of use.
func unused(versions ...int) edit {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		for _, i := range versions {
			c.Spec.Versions[i].Served, c.Spec.Versions[i].Storage = false, false
		}
		for i := range c.Spec.Versions {
			if c.Spec.Versions[i].Served {
				c.Spec.Versions[i].Storage = true
				return
			}
		}
	}
}

func webhook(url, bundle string) edit {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: []byte(bundle)}}}
	}
}

// storage makes one version the stored one.
func storage(version int) edit {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		for i := range c.Spec.Versions {
			c.Spec.Versions[i].Storage = i == version
		}
	}
}

func both(edits ...edit) edit {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		for _, f := range edits {
			f(c)
		}
	}
}

// TestVersionsOverTime checks which versions of a definition are compared over time, and what is
// said about the definition as a whole.
//
// Attack: a version is taken out of use, loses its exclusion, and is used again; or a version without it, or a conversion webhook, is added
// Answer: each version that comes into use is compared with the stored version; a webhook needs the verb
// Attack: a version in which objects are stored is taken out of use, and loses an excluded field, or gives it a default, so that
// the value is erased or set when the server reads such an object
// Was: got through
// Answer: each version is compared, in use or not: 403
// Held by: TestAttackStoredUnserved
func TestVersionsOverTime(t *testing.T) {
	hook := webhook("https://a.example", "x")
	for _, test := range []struct {
		name            string
		stored, updated edit
		before, after   []string
		want            string
		kept            bool
	}{
		{"a version out of use loses it", nil, unused(1), []string{guarded, guarded}, []string{guarded, open}, "version v2: .spec.secret is no longer excluded", true},
		{"a version out of use loses the field", nil, unused(0), []string{guarded, guarded}, []string{bare, guarded}, "version v1: .spec.secret is not in the schema any more", false},
		{"a version out of use gets a default", nil, unused(0), []string{guarded, guarded}, []string{evil, guarded}, "version v1: .spec.secret gets another default", false},
		{"a version that was out of use loses the field", unused(0), unused(0), []string{guarded, guarded}, []string{bare, guarded}, "version v1: .spec.secret is not in the schema any more", false},
		{"another one takes over, and it gets a default", nil, unused(0), []string{guarded}, []string{evil, guarded}, "version v1: .spec.secret gets another default", false},
		{"a version out of use that excludes nothing gets another schema", unused(0), unused(0), []string{open, guarded}, []string{bare, guarded},
			"version v1: .spec gets another set of properties, by which objects that are stored in the version are read", false},
		{"a version in use that excludes nothing gets another schema", nil, nil, []string{open, guarded}, []string{bare, guarded}, "", true},
		{"a new version, and the stored one excludes nothing", nil, nil, []string{open, guarded}, []string{open, guarded, bare}, "", true},
		{"a version out of use that excludes nothing stays", unused(0), unused(0), []string{open, guarded}, []string{open, guarded}, "", true},
		{"a version out of use that excludes nothing excludes something", unused(0), unused(0), []string{open, guarded}, []string{guarded, guarded}, "", true},
		{"a version out of use that excludes nothing is used", unused(0), nil, []string{open, guarded}, []string{evil, guarded},
			"version v1: .spec.secret gets another default, by which objects that are stored in the version are read; version v1: .spec.secret gets another default", false},
		{"a version out of use that excludes nothing is used, and excludes it", unused(0), nil, []string{open, guarded}, []string{guarded, guarded}, "", true},
		{"a version out of use is used, without its own field", both(hook, unused(0)), hook, []string{guarded, moved}, []string{moved, moved},
			"version v1: .spec.secret is not in the schema any more", false},
		{"a version out of use is used, with another field", both(hook, unused(0)), hook, []string{guarded, moved}, []string{guarded, moved},
			"version v1: .spec.other is not in the schema any more", false},
		{"unknown fields are dropped", unknown, nil, []string{guarded}, []string{guarded},
			".spec.preserveUnknownFields is false now, so that the server drops what excluded fields contain and no schema has", false},
		{"unknown fields were dropped", nil, nil, []string{guarded}, []string{guarded}, "", true},
		{"a new version out of use", nil, unused(1), []string{guarded}, []string{guarded, evil}, "version v2: .spec.secret gets another default", false},
		{"a new version out of use is equal", nil, unused(1), []string{guarded}, []string{guarded, guarded}, "", true},
		{"a version goes, and a webhook converts", both(hook, unused(1)), hook, []string{guarded, moved}, []string{guarded},
			"version v2: .spec.versions loses it; if a webhook converts, one of the name could come back with the excluded fields elsewhere", false},
		{"a version goes", unused(1), nil, []string{guarded, guarded}, []string{guarded}, "", true},
		{"a version out of use that excludes nothing gets a field", unused(0), unused(0), []string{bare, guarded}, []string{open, guarded}, "", true},
		{"no webhook, and a version out of use has it elsewhere", both(hook, unused(0)), unused(0), []string{moved, guarded}, []string{moved, guarded},
			".spec.conversion has no webhook any more, and versions have excluded fields at different places", false},
		{"no webhook, and a version out of use has it there", both(hook, unused(0)), unused(0), []string{guarded, guarded}, []string{guarded, guarded}, "", true},
		{"and is used again", unused(1), nil, []string{guarded, open}, []string{guarded, open}, "version v2: .spec.secret is no longer excluded", true},
		{"the other version takes over", nil, unused(0), []string{guarded, guarded}, []string{guarded, guarded}, "", true},
		{"the other version takes over and opens", nil, unused(0), []string{guarded, guarded}, []string{guarded, open}, "version v2: .spec.secret is no longer excluded", true},
		{"a new version", nil, unused(0), []string{guarded}, []string{guarded, moved}, "version v2: .spec.secret is not in the schema any more", false},
		{"a new version that a webhook converts", hook, hook, []string{guarded}, []string{guarded, moved}, "version v2: .spec.secret is not in the schema any more", false},
		{"a webhook", nil, hook, []string{guarded}, []string{guarded}, ".spec.conversion gets a webhook, which can change every field", false},
		{"another webhook", hook, webhook("https://b.example", "x"), []string{guarded}, []string{guarded}, ".spec.conversion gets a webhook at another address, which can change every field", false},
		{"another bundle", hook, webhook("https://a.example", "y"), []string{guarded}, []string{guarded}, "", true},
		{"no webhook any more", hook, nil, []string{guarded}, []string{guarded}, "", true},
		{"a webhook where nothing is excluded", nil, hook, []string{named}, []string{named}, "", true},
		{"the last extension", nil, nil, []string{named}, []string{bare}, ".spec.versions have no permission extension any more", true},
		{"none", nil, nil, []string{none}, []string{bare}, ".spec.versions have no permission extension any more", true},
		{"not the last extension", nil, nil, []string{none}, []string{named}, "", true},
		{"no extension, another field", nil, nil, []string{bare}, []string{open}, "", true},
		{"a version after the stored one, which is the first", hook, hook, []string{guarded, moved}, []string{guarded, moved, bare}, "version v3: .spec.secret is not in the schema any more", false},
		{"a version after the stored one, which is the second", both(hook, storage(1)), both(hook, storage(1)), []string{guarded, moved}, []string{guarded, moved, bare},
			"version v3: .spec.other is not in the schema any more", false},
		{"no schema any more", nil, withoutSchema(0), []string{guarded}, []string{guarded}, "version v1: .spec.versions has no schema any more; .spec.versions have no permission extension any more", false},
		{"two versions get one schema", hook, hook, []string{guarded, moved}, []string{guarded, guarded}, "version v2: .spec.other is not in the schema any more", false},
		{"two schemas that lose what differs", nil, nil, []string{guarded, strings.Replace(guarded, "a: {type: string", "a: {type: string, +verb: example.com/a", 1)}, []string{open, open},
			"version v1: .spec.secret is no longer excluded; version v2: .spec.secret is no longer excluded; .spec.versions have no permission extension any more", true},
		{"no extension", nil, nil, []string{bare}, []string{bare}, "", true},
		{"a schema that does not compile", nil, nil, []string{broken}, []string{open}, "version v1: . has other permission extensions, and the server can't compare them, because the schema does not compile; .spec.versions have no permission extension any more", true},
		{"a schema that does not compile is repaired", nil, nil, []string{broken}, []string{repairs}, "version v1: . has other permission extensions, and the server can't compare them, because the schema does not compile", true},
		{"a schema that does not compile gets another type", nil, nil, []string{broken}, []string{strings.Replace(broken, "secret: {type: string", "secret: {type: integer", 1)},
			"version v1: . gets another type at .spec.secret, and the server can't compare more, because the schema does not compile", false},
		{"a schema that does not compile gets a default", nil, nil, []string{broken}, []string{strings.Replace(broken, "secret: {type: string", "secret: {type: string, default: x", 1)},
			"version v1: . gets another default at .spec.secret, and the server can't compare more, because the schema does not compile", false},
		{"a schema that does not compile grows", nil, nil, []string{broken}, []string{strings.Replace(broken, "secret: {", "more: {type: string}, secret: {", 1)}, "", true},
		{"a schema that does not compile stays", nil, nil, []string{broken}, []string{broken}, "", true},
		{"two versions with one schema", nil, nil, []string{guarded, guarded}, []string{open, open}, "version v1: .spec.secret is no longer excluded; version v2: .spec.secret is no longer excluded; .spec.versions have no permission extension any more", true},
		{"two versions with two schemas", both(hook), both(hook), []string{guarded, moved}, []string{open, strings.Replace(open, "secret", "other", 1)},
			"version v1: .spec.secret is no longer excluded; version v2: .spec.other is no longer excluded; .spec.versions have no permission extension any more", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := validator()
			stored, updated := definition(t, test.stored, test.before...), definition(t, test.updated, test.after...)
			found := v.Openings(updated, stored)
			var texts []string
			for _, o := range found {
				texts = append(texts, o.String())
			}
			if got := strings.Join(texts, "; "); got != test.want {
				t.Fatalf("got  %s\nwant %s", got, test.want)
			}
			if len(found) == 0 {
				return
			}
			kept := v.Keep(updated, stored, found)
			if (kept != nil) != test.kept {
				t.Fatalf("kept is %v, want %v", kept != nil, test.kept)
			}
			if kept != nil && len(test.before) == len(test.after) && test.stored == nil && test.updated == nil {
				if diff := cmp.Diff(stored.Spec, kept.Spec); diff != "" {
					t.Errorf("the extensions are not those of the stored definition (-stored +kept):\n%s", diff)
				}
			}
		})
	}
}

// TestOpeningsAreBounded checks that a comparison of many exclusions takes no more than a moment.
func TestOpeningsAreBounded(t *testing.T) {
	var fields strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&fields, "f%d: {type: string, +verb: example.com/f, +excluded: true}, ", i)
	}
	text := `properties: {spec: {type: object, properties: {` + fields.String() + `}}}`
	v := validator()
	stored, updated := definition(t, nil, text), definition(t, nil, strings.ReplaceAll(text, "true", "false"))
	found := v.Openings(updated, stored)
	if len(found) != 4000 {
		t.Fatalf("%d openings", len(found))
	}
	if v.Keep(updated, stored, found) == nil {
		t.Error("the extensions can't be kept")
	}
}

// TestChanged checks which field of a definition an opening names as the one that the update changes.
func TestChanged(t *testing.T) {
	for _, test := range []struct {
		opening Opening
		want    string
	}{
		{Opening{Version: "v1", Field: ".spec.secret"}, ".spec.versions"},
		{Opening{Field: ".spec.conversion"}, ".spec.conversion"},
	} {
		if got := test.opening.Changed(); got != test.want {
			t.Errorf("%v: %s, want %s", test.opening, got, test.want)
		}
	}
}

// counted counts how often an expression is compiled.
type counted struct {
	schema.Expressions
	calls int
}

func (c *counted) Compile(text string) (schema.Expression, error) {
	c.calls++
	return c.Expressions.Compile(text)
}

// TestSharedSchemaIsCompiledOnce checks that a schema that versions share is compiled once, and that
// versions with schemas of their own are compiled each.
func TestSharedSchemaIsCompiledOnce(t *testing.T) {
	compiled := func(schemas ...string) int {
		c := &counted{Expressions: expression.Accepted()}
		v := New(func() bool { return true }, c)
		v.compiledVersions(definition(t, nil, schemas...))
		return c.calls
	}
	one := compiled(box)
	if one == 0 {
		t.Fatal("the schema has no expression")
	}
	if got := compiled(box, box); got != one {
		t.Errorf("%d expressions are compiled for two versions that share a schema, %d for one", got, one)
	}
	if got := compiled(box, strings.Replace(box, "inner: {type: string}", "inner: {type: integer}", 1)); got != 2*one {
		t.Errorf("%d expressions are compiled for two schemas, %d for one", got, one)
	}
}

// TestExpressionAtPath checks that the expression of a permission is that of its field, and empty if
// the field has none or is in no definition.
func TestExpressionAtPath(t *testing.T) {
	spec, elem := schema.Step{Field: "spec"}, schema.Step{Elem: true}
	version := versionsOf(definition(t, nil, box))[0]
	for name, test := range map[string]struct {
		way  []schema.Step
		want string
	}{
		"a field with one": {[]schema.Step{spec, {Field: "pools"}, elem}, "self.lowerAscii()"},
		"a field without":  {[]schema.Step{spec, {Field: "secret"}}, ""},
		"no field":         {[]schema.Step{{Field: "metadata"}, {Field: "labels"}, elem}, ""},
	} {
		if got := version.expression(test.way); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
