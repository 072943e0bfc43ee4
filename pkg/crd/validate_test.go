// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func lines(errs field.ErrorList) string {
	var b strings.Builder
	for _, err := range errs {
		b.WriteString(strings.TrimPrefix(err.Error(), "spec.versions[0].schema.openAPIV3Schema") + "\n")
	}
	return b.String()
}

func chain(n int) string {
	text := "{type: string}"
	for i := range n {
		text = fmt.Sprintf("{type: object, +verb: p%d, properties: {a: %s}}", n-i, text)
	}
	return text
}

// noIdentity is the message for an excluded permission in the elements of an atomic list.
const noIdentity = "elements of an atomic list have no identity: exclude the whole list, give it the type map, or exclude the elements by a permission whose parameter is one of their values"

func TestValidate(t *testing.T) {
	const verb = ".properties[a].x-kubernetes-permission-verb"
	for _, test := range []struct{ name, schema, want string }{
		{"nothing", `properties: {a: {type: string}}`, ""},
		{"all of it", `
properties:
  spec:
    type: object
    +verb: specification
    properties:
      trigger: {type: boolean, +verb: example.com/trigger, +excluded: true}
      pools:
        type: object
        +parameter-source: pool
        additionalProperties: {type: integer, +verb: example.com/pool, +parameterized-by: pool, +parameter-treatment: slash-delimited-prefix}
      owners:
        type: array
        +list: map
        +keys: [name]
        items: {type: object, +verb: example.com/owner, +parameterized-by: owner, +parameter-expression: "self.split('@')[0]", properties: {name: {type: string, +parameter-source: owner}}}
      tags:
        type: array
        +list: set
        +parameter-source: tag
        items: {type: string, +verb: example.com/tag, +parameterized-by: tag}
      template:
        type: object
        +scope: example.com/cell
        +embedded: true
        +preserve: true
        properties: {spec: {type: object, +preserve: true, +verb: specification}}
`, ""},
		{"malformed permission", `properties: {a: {type: string, +verb: Labels}}`,
			verb + `: Invalid value: "Labels": permission: the name must begin with a lower-case letter` + "\n"},
		{"a verb for a permission", `properties: {a: {type: string, +verb: "granular:acme.io/valve"}}`,
			verb + `: Invalid value: "granular:acme.io/valve": permission: the name must not begin with "granular:", only a permission verb does` + "\n"},
		{"a domain with a character it can't have", `properties: {a: {type: string, +verb: Acme.io/valve}}`,
			verb + `: Invalid value: "Acme.io/valve": permission: the domain is not a DNS-1123 subdomain: 'A' is not allowed` + "\n"},
		{"empty permission", `properties: {a: {type: string, +verb: ""}}`,
			verb + `: Invalid value: "": must not be empty` + "\n"},
		{"the name of the general verb", `properties: {a: {type: string, +verb: granular}}`,
			verb + `: Invalid value: "granular": permission: the name is reserved for the general verb` + "\n"},
		{"the name of the general verb, for a scope", `properties: {a: {type: object, +scope: granular}}`,
			`.properties[a].x-kubernetes-permission-scope: Invalid value: "granular": permission: the name is reserved for the general verb` + "\n"},
		{"a name of one's own like it", `properties: {a: {type: string, +verb: example.com/granular}}`, ""},
		{"a field path", `properties: {a: {type: object, properties: {b: {type: string, +verb: a.b}}}}`,
			`.properties[a].properties[b].x-kubernetes-permission-verb: Invalid value: "a.b": permission: the name must be lowerCamelCase, '.' is neither letter nor digit` + "\n"},
		{"malformed scope", `properties: {a: {type: object, +scope: Pod}}`,
			`.properties[a].x-kubernetes-permission-scope: Invalid value: "Pod": permission: the name must begin with a lower-case letter` + "\n"},
		{"a name that a scope makes too long", `properties: {a: {type: object, +scope: ` + strings.Repeat("s", 40) + `, properties: {b: {type: string, +verb: ` + strings.Repeat("v", 40) + `}}}}`,
			`.properties[a].properties[b].x-kubernetes-permission-verb: Invalid value: "` + strings.Repeat("v", 40) + `": with the prefix of its scope: permission: the name is longer than 63 bytes` + "\n"},
		{"excluded by itself", `properties: {a: {type: string, +excluded: true}}`,
			`.properties[a].x-kubernetes-permission-excluded: Invalid value: true: has no effect without x-kubernetes-permission-verb` + "\n"},
		{"excluded in one place only", `properties: {a: {type: string, +verb: a, +excluded: true}, b: {type: string, +verb: a}}`,
			`.properties[b].x-kubernetes-permission-verb: Invalid value: "a": permission "a" is excluded in one place and not in another` + "\n"},
		{"excluded, but not in an object's metadata", `properties: {a: {type: object, +verb: labels, +excluded: true}}`,
			verb + `: Invalid value: "labels": permission "labels" is excluded in one place and not in another` + "\n"},
		{"parameter without source", `properties: {a: {type: string, +verb: a, +parameterized-by: k}}`,
			`.properties[a].x-kubernetes-permission-parameterized-by: Invalid value: "k": no map or list above has x-kubernetes-permission-parameter-source: k` + "\n"},
		{"parameter of nothing", `properties: {a: {type: string, +parameterized-by: k}}`,
			`.properties[a].x-kubernetes-permission-parameterized-by: Invalid value: "k": has no effect without x-kubernetes-permission-verb` + "\n"},
		{"unknown treatment", `properties: {a: {type: object, +parameter-source: k, additionalProperties: {type: string, +verb: a, +parameterized-by: k, +parameter-treatment: upper}}}`,
			`.properties[a].additionalProperties.x-kubernetes-permission-parameter-treatment: Invalid value: "upper": unknown parameter treatment, must be "slash-delimited-prefix" or "image-repository-prefix"` + "\n"},
		{"treatment of nothing", `properties: {a: {type: string, +verb: a, +parameter-treatment: slash-delimited-prefix}}`,
			`.properties[a].x-kubernetes-permission-parameter-treatment: Invalid value: "slash-delimited-prefix": has no effect without x-kubernetes-permission-parameterized-by` + "\n"},
		{"treatment and expression", `properties: {a: {type: object, +parameter-source: k, additionalProperties: {type: string, +verb: a, +parameterized-by: k, +parameter-treatment: slash-delimited-prefix, +parameter-expression: self}}}`,
			`.properties[a].additionalProperties.x-kubernetes-permission-parameter-expression: Invalid value: "self": can't stand together with x-kubernetes-permission-parameter-treatment` + "\n"},
		{"expression that does not compile", `properties: {a: {type: array, +list: set, +parameter-source: k, items: {type: string, +verb: a, +parameterized-by: k, +parameter-expression: "self.nonsense()"}}}`,
			`.properties[a].items.x-kubernetes-permission-parameter-expression: Invalid value: "self.nonsense()": does not compile: column 14: undeclared reference to 'nonsense' (in container '')` + "\n"},
		{"expression that gives no string", `properties: {a: {type: array, +list: set, +parameter-source: k, items: {type: string, +verb: a, +parameterized-by: k, +parameter-expression: "self == 'a'"}}}`,
			`.properties[a].items.x-kubernetes-permission-parameter-expression: Invalid value: "self == 'a'": must return a string` + "\n"},
		{"expression that is too costly", `properties: {a: {type: array, +list: set, +parameter-source: k, items: {type: string, +verb: a, +parameterized-by: k, +parameter-expression: "self.split('').map(a, self.split('').map(b, a+b).join('')).join('')"}}}`,
			`.properties[a].items.x-kubernetes-permission-parameter-expression: Invalid value: "self.split('').map(a, self.split('').map(b, a+b).join('')).join('')": is too costly: its cost for a key of 317 bytes is estimated at `},
		{"source without keys", `properties: {a: {type: object, +parameter-source: k, properties: {b: {type: string}}}, l: {type: array, +parameter-source: k, items: {type: string}}, m: {type: array, +list: map, +keys: [x, y], +parameter-source: k, items: {type: object, properties: {x: {type: string, +parameter-source: k}, y: {type: string}, z: {type: string, +parameter-source: k}}}}}`,
			`.properties[a].x-kubernetes-permission-parameter-source: Invalid value: "k": must stand on a map, on a list of type map with one key or of type set, or on the schema of such a key
.properties[l].x-kubernetes-permission-parameter-source: Invalid value: "k": must stand on a map, on a list of type map with one key or of type set, or on the schema of such a key
.properties[m].x-kubernetes-permission-parameter-source: Invalid value: "k": must stand on a map, on a list of type map with one key or of type set, or on the schema of such a key
.properties[m].items.properties[z].x-kubernetes-permission-parameter-source: Invalid value: "k": must stand on a map, on a list of type map with one key or of type set, or on the schema of such a key
`},
		{"on the object as a whole", `{+verb: all, properties: {a: {type: string}}}`,
			`.x-kubernetes-permission-verb: Forbidden: the object as a whole can't have a permission, because its metadata has permissions of its own` + "\n"},
		{"on the object's own metadata", `properties: {kind: {type: string, +verb: kind}, metadata: {type: object, +verb: metadata, properties: {name: {type: string, +verb: name, +excluded: true}}}}`,
			`.properties[kind].x-kubernetes-permission-verb: Forbidden: the server replaces the schema of this kind by its own, so this extension has no effect
.properties[metadata].x-kubernetes-permission-verb: Forbidden: the server replaces the schema of this metadata by its own, so this extension has no effect
.properties[metadata].properties[name].x-kubernetes-permission-excluded: Forbidden: the server replaces the schema of this metadata by its own, so this extension has no effect
.properties[metadata].properties[name].x-kubernetes-permission-verb: Forbidden: the server replaces the schema of this metadata by its own, so this extension has no effect
`},
		{"on an embedded object's metadata", `properties: {a: {type: object, +embedded: true, +preserve: true, properties: {metadata: {type: object, +verb: a}}}}`,
			`.properties[a].properties[metadata].x-kubernetes-permission-verb: Forbidden: the server replaces the schema of this metadata by its own, so this extension has no effect` + "\n"},
		{"eight on one path", `properties: {a: ` + chain(8) + `}`, ""},
		{"nine on one path", `properties: {a: ` + chain(9) + `}`,
			`.properties[a]` + strings.Repeat(".properties[a]", 8) + `.x-kubernetes-permission-verb: Invalid value: "p9": more than 8 permissions on one path` + "\n"},
		{"excluded in an atomic list", `properties: {a: {type: array, items: {type: object, properties: {b: {type: string, +verb: b, +excluded: true}, c: {type: string, +verb: c}}}}}`,
			`.properties[a].items.properties[b].x-kubernetes-permission-excluded: Forbidden: elements of an atomic list have no identity: exclude the whole list, give it the type map, or exclude the elements by a permission whose parameter is one of their values` + "\n"},
		{"excluded elements of an atomic list by a value", `properties: {a: {type: array, items: {type: object, +verb: acme.io/a, +excluded: true, +parameterized-by: self.k, properties: {k: {type: string}}}}}`, ""},
		{"excluded below elements that have a value", `properties: {a: {type: array, items: {type: object, +verb: acme.io/a, +parameterized-by: self.k, properties: {k: {type: string}, b: {type: string, +verb: b, +excluded: true}}}}}`,
			`.properties[a].items.properties[b].x-kubernetes-permission-excluded: Forbidden: ` + noIdentity + "\n"},
		{"excluded elements by a value in an atomic list of lists",
			`properties: {a: {type: array, items: {type: object, properties: {n: {type: string}, b: {type: array, items: {type: object, +verb: acme.io/a, +excluded: true, +parameterized-by: self.k, properties: {k: {type: string}}}}}}}}`,
			`.properties[a].items.properties[b].items.x-kubernetes-permission-excluded: Forbidden: ` + noIdentity + "\n"},
		{"excluded elements of an atomic list without a value",
			`properties: {a: {type: array, items: {type: string, +verb: acme.io/a, +excluded: true}}}`,
			`.properties[a].items.x-kubernetes-permission-excluded: Forbidden: ` + noIdentity + "\n"},
		{"excluded values of a map in an atomic list",
			`properties: {a: {type: array, items: {type: object, properties: {m: {type: object, additionalProperties: {type: string, +verb: acme.io/a, +excluded: true, +parameterized-by: self}}}}}}`,
			`.properties[a].items.properties[m].additionalProperties.x-kubernetes-permission-excluded: Forbidden: ` + noIdentity + "\n"},
		{"an excluded atomic list",
			`properties: {a: {type: array, +verb: a, +excluded: true, items: {type: object, properties: {b: {type: string, +verb: b, +excluded: true}}}}}`,
			""},
		{"excluded in a list of type map",
			`properties: {a: {type: array, +list: map, +keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, b: {type: string, +verb: b, +excluded: true}}}}}`,
			""},
		{"a set of objects is atomic", `properties: {a: {type: array, +list: set, items: {type: object, x-kubernetes-map-type: atomic, properties: {b: {type: string, +verb: b, +excluded: true}}}}}`,
			`.properties[a].items.properties[b].x-kubernetes-permission-excluded: Forbidden: elements of an atomic list have no identity: exclude the whole list, give it the type map, or exclude the elements by a permission whose parameter is one of their values` + "\n"},
		{"unknown fields around",
			`properties: {a: {type: object, +preserve: true, +verb: a, properties: {b: {type: string, +verb: b, +excluded: true}}}}`,
			""},
		{"all mistakes at once", `properties: {a: {type: string, +verb: A}, b: {type: string, +verb: B}}`,
			`.properties[a].x-kubernetes-permission-verb: Invalid value: "A": permission: the name must begin with a lower-case letter
.properties[b].x-kubernetes-permission-verb: Invalid value: "B": permission: the name must begin with a lower-case letter
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			crd := definition(t, nil, test.schema)
			got := lines(validator().Validate(crd, nil))
			if test.want == "" || strings.HasSuffix(test.want, "\n") {
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			} else if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s", got)
			}
			if errs := validator().Validate(crd, crd); len(errs) > 0 {
				t.Errorf("what was stored so is no error: %v", errs)
			}
		})
	}
}

// TestRatcheting checks that a definition that was stored with a mistake may be changed
// elsewhere, and also at the mistake unless that adds a mistake.
func TestRatcheting(t *testing.T) {
	const stored = `properties: {a: {type: string, +verb: A}, b: {type: string}}`
	for _, test := range []struct {
		name, schema string
		change       func(*apiextensionsv1.CustomResourceDefinition)
		want         string
	}{
		{name: "untouched", schema: stored,
			change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames = []string{"t"} }},
		{name: "changed beside",
			schema: `properties: {a: {type: string, maxLength: 3, +verb: A}, c: {type: string, +verb: c}}`},
		{name: "mended", schema: `properties: {a: {type: string, +verb: a}, b: {type: string}}`},
		{name: "a new mistake", schema: `properties: {a: {type: string, +verb: A}, b: {type: string, +verb: B}}`,
			want: `.properties[b].x-kubernetes-permission-verb: Invalid value: "B": permission: the name must begin with a lower-case letter` + "\n"},
		{name: "the mistake moved", schema: `properties: {b: {type: string, +verb: A}}`,
			want: `.properties[b].x-kubernetes-permission-verb: Invalid value: "A": permission: the name must begin with a lower-case letter` + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(validator().Validate(definition(t, test.change, test.schema), definition(t, nil, stored)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLegacy checks that permissions are refused in a definition whose schema is not structural,
// because the server serves it with models that have no fields.
func TestLegacy(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"structural by now": {`properties: {a: {type: string, +verb: a, +excluded: true}}`, ""},
		"still not": {`properties: {a: {+verb: a, +excluded: true}}`,
			": Forbidden: permissions need a structural schema\n"},
		"without any": {`properties: {a: {minLength: 1}}`, ""},
	} {
		crd := definition(t, nil, test.schema)
		crd.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.NonStructuralSchema, Status: apiextensions.ConditionTrue}}
		if diff := cmp.Diff(test.want, lines(validator().Validate(crd, definition(t, nil, `properties: {a: {minLength: 1}}`)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestVersions(t *testing.T) {
	const (
		none    = `properties: {spec: {type: object, +verb: specification, properties: {trigger: {type: boolean}, destruct: {type: boolean}}}}`
		here    = `properties: {spec: {type: object, +verb: specification, properties: {trigger: {type: boolean, +verb: boom, +excluded: true}, other: {type: string}}}}`
		renamed = `properties: {spec: {type: object, +verb: specification, properties: {destruct: {type: boolean, +verb: boom, +excluded: true}}}}`
		other   = `properties: {spec: {type: object, properties: {trigger: {type: boolean, +verb: bang, +excluded: true}}}}`
	)
	webhook := func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{}}
	}
	for _, test := range []struct {
		name    string
		schemas []string
		change  func(*apiextensionsv1.CustomResourceDefinition)
		want    string
	}{
		{name: "the same", schemas: []string{here, here}},
		{name: "the same place, something else beside",
			schemas: []string{here, strings.Replace(here, "other", "another", 1)}},
		{name: "in one version only", schemas: []string{none, here},
			want: "spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 excludes permission boom, but version v1 does not\n"},
		{name: "in the first version only", schemas: []string{here, none},
			want: "spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 does not exclude permission boom, but version v1 does\n"},
		{name: "another permission", schemas: []string{here, other},
			want: "spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 does not exclude permission boom, but version v1 does\n" +
				"spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 excludes permission bang, but version v1 does not\n"},
		{name: "another field", schemas: []string{here, renamed},
			want: "spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 excludes permission boom at .spec.destruct, but version v1 excludes it at .spec.trigger; without a conversion webhook both versions hold the same fields\n"},
		{name: "another field, converted", schemas: []string{here, renamed}, change: webhook},
		{name: "another permission, converted", schemas: []string{here, none}, change: webhook,
			want: "spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 does not exclude permission boom, but version v1 does\n"},
		{name: "in a version that nobody writes", schemas: []string{here, none},
			change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false }},
		{name: "in the stored version, which is not served", schemas: []string{none, here}, change: func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Served = false
		}, want: "spec.versions[1].schema.openAPIV3Schema: Invalid value: version v2 excludes permission boom, but version v1 does not\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got strings.Builder
			crd := definition(t, test.change, test.schemas...)
			for _, err := range validator().Validate(crd, nil) {
				got.WriteString(err.Error() + "\n")
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if errs := validator().Validate(crd, crd); len(errs) > 0 {
				t.Errorf("what was stored so is no error: %v", errs)
			}
		})
	}
}

// TestShapesOfVersions checks that two versions without a conversion webhook must describe an
// excluded field the same way. An object that is read through a version has lost the fields that
// this version lacks, and has its defaults, before it is compared.
func TestShapesOfVersions(t *testing.T) {
	guard := func(schema string) string {
		return `properties: {spec: {type: object, properties: {x: {type: string}, guard: ` + strings.Replace(schema, "{", "{+verb: boom, +excluded: true, ", 1) + `}}}`
	}
	list := func(keys, more string) string {
		return `properties: {spec: {type: object, properties: {doors: {type: array, +list: map, +keys: [` + keys + `], ` + more + `
			items: {type: object, required: [id, name], properties: {id: {type: integer}, name: {type: string}, guard: {type: string, +verb: boom, +excluded: true}}}}}}}`
	}
	const inMap = `properties: {spec: {type: object, properties: {doors: {type: object, additionalProperties: {type: object, properties: {guard: {type: string, +verb: boom, +excluded: true}}}}}}}`
	withDefault := func(schema, value string) string {
		return strings.Replace(schema, "spec: {", "spec: {default: "+value+", ", 1)
	}
	object := guard("{type: object, properties: {armed: {type: boolean}, mode: {type: string, default: a}}}")
	for _, test := range []struct{ name, v1, v2, want string }{
		{"other limits", guard("{type: string, maxLength: 5}"),
			guard("{type: string, description: more, enum: [a]}"), ""},
		{"something else beside", object,
			strings.Replace(object, "x: {type: string}", "y: {type: integer, default: 3}", 1), ""},
		{"a default of something else", withDefault(object, "{x: a}"), withDefault(object, "{x: b}"), ""},
		{"fewer fields", object, guard("{type: object}"), "set of properties at .spec.guard"},
		{"another default", guard("{type: boolean, default: false}"), guard("{type: boolean, default: true}"),
			"default at .spec.guard"},
		{"a default in one", guard("{type: boolean}"), guard("{type: boolean, default: true}"),
			"default at .spec.guard"},
		{"another default below", object, strings.Replace(object, "default: a", "default: b", 1),
			"default at .spec.guard.mode"},
		{"another default above", withDefault(object, "{guard: {armed: false}}"),
			withDefault(object, "{guard: {armed: true}}"), "default at .spec.guard"},
		{"a default above in one", object, withDefault(object, "{guard: {armed: true}}"), "default at .spec.guard"},
		{"null in one", guard("{type: string, nullable: true}"), guard("{type: string}"), "type at .spec.guard"},
		{"unknown fields in one", guard("{type: object, +preserve: true}"), guard("{type: object}"),
			"x-kubernetes-preserve-unknown-fields at .spec.guard"},
		{"values in one", guard("{type: object, additionalProperties: true}"), guard("{type: object}"),
			"additionalProperties at .spec.guard"},
		{"other values",
			guard("{type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}"),
			guard("{type: object, additionalProperties: {type: object}}"), "set of properties at .spec.guard[*]"},
		{"other elements", guard("{type: array, items: {type: object, properties: {a: {type: string}}}}"),
			guard("{type: array, items: {type: object}}"), "set of properties at .spec.guard[*]"},
		{"other keys of a list", list("name", ""), list("id", ""), "list at .spec.doors[*].guard"},
		{"the same keys", list("name", ""), list("name", "maxItems: 3,"), ""},
		{"a map and a list", list("name", ""), inMap, "list at .spec.doors[*].guard"},
	} {
		t.Run(test.name, func(t *testing.T) {
			crd := definition(t, nil, test.v1, test.v2)
			errs := validator().Validate(crd, nil)
			if test.want == "" && len(errs) > 0 || test.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), "version v2 has another "+test.want)) {
				t.Errorf("want %q, got %v", test.want, errs)
			}
			if errs := validator().Validate(crd, crd); len(errs) > 0 {
				t.Errorf("what was stored so is no error: %v", errs)
			}
			crd.Spec.Conversion = &apiextensions.CustomResourceConversion{Strategy: apiextensions.WebhookConverter}
			if errs := validator().Validate(crd, nil); len(errs) > 0 {
				t.Errorf("converted: %v", errs)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	const schema = `properties: {a: {type: string, +verb: mine}, b: {type: object, +scope: cell, properties: {c: {type: string, +verb: example.org/theirs}, d: {type: string, +verb: replicas}}}}`
	crd := definition(t, nil, schema, schema+"\n")
	want := []string{
		`spec.versions[0].schema.openAPIV3Schema.properties[a].x-kubernetes-permission-verb: permission "mine" is not well-known, and another author may use the same name; use "example.com/mine"`,
		`spec.versions[0].schema.openAPIV3Schema.properties[b].x-kubernetes-permission-scope: permission "cell" is not well-known, and another author may use the same name; use "example.com/cell"`,
	}
	if diff := cmp.Diff(want, validator().Warnings(crd, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := validator().Warnings(crd, definition(t, nil, strings.Replace(schema, "+scope: cell", "nullable: true", 1))); len(got) != 1 || got[0] != want[1] {
		t.Errorf("on update: %v", got)
	}
	for _, test := range []struct{ name, schema, want string }{
		{"excluded and well-known", `properties: {a: {type: integer, +verb: replicas, +excluded: true}}`,
			`.properties[a].x-kubernetes-permission-verb: permission "replicas" is well-known, and on built-in kinds it is part of update; it is excluded here, so a name of its own is clearer, such as "example.com/replicas"`},
		{"excluded, with a name of its own",
			`properties: {a: {type: integer, +verb: example.com/replicas, +excluded: true}}`, ""},
		{"a parameter that nothing takes", `properties: {a: {type: object, +parameter-source: k, additionalProperties: {type: string}}}`,
			`.properties[a].x-kubernetes-permission-parameter-source: no permission below takes the parameter "k": name it in x-kubernetes-permission-parameterized-by`},
		{"a parameter that is taken",
			`properties: {a: {type: object, +parameter-source: k, additionalProperties: {type: string, +verb: example.com/a, +parameterized-by: k}}}`,
			""},
	} {
		var want []string
		if strings.Contains(test.schema, "+excluded") {
			want = append(want, wildcards)
		}
		if test.want != "" {
			want = append(want, "spec.versions[0].schema.openAPIV3Schema"+test.want)
		}
		crd := definition(t, nil, test.schema, test.schema+"\n")
		if diff := cmp.Diff(want, validator().Warnings(crd, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if got := validator().Warnings(crd, crd); len(got) != 0 {
			t.Errorf("%s, again: %v", test.name, got)
		}
	}
	var many strings.Builder
	for i := range 3 * MaxWarnings {
		fmt.Fprintf(&many, "p%02d: {type: string, +verb: v%d}, ", i, i)
	}
	if got := validator().Warnings(definition(t, nil, "properties: {"+many.String()+"}"), nil); len(got) != MaxWarnings || !slices.IsSorted(got) {
		t.Errorf("%d warnings, wanted the first %d: %q", len(got), MaxWarnings, got)
	}
}

// TestExpressionThatWasStored checks that a definition whose stored expression exceeds the bounds can
// still be written, with a warning, and that a new definition can't have that expression. The server
// does not type-check it in either case.
//
// Attack: a parameter expression of a definition whose type check never ends
// Answer: 422 in milliseconds
// Was: compiled for minutes
func TestExpressionThatWasStored(t *testing.T) {
	bomb := `properties: {a: {type: array, +list: set, +parameter-source: k, items: {type: string, +verb: example.com/a, +parameterized-by: k, +parameter-expression: "[self]` +
		strings.Repeat(`.map(a,{a:a})`, 22) + `.size() == 1 ? self : self"}}}`
	crd := definition(t, nil, bomb)
	if errs := validator().Validate(crd, nil); len(errs) != 1 || !strings.Contains(errs[0].Detail, "computed key") {
		t.Errorf("a new one: %v", errs)
	}
	if errs := validator().Validate(crd, crd); len(errs) != 0 {
		t.Errorf("a stored one: %v", errs)
	}
	for _, old := range []*apiextensions.CustomResourceDefinition{nil, crd} {
		if got := validator().Warnings(crd, old); len(got) != 1 || !strings.Contains(got[0], "computed key") {
			t.Errorf("warnings: %q", got)
		}
	}
	twin := definition(t, nil, `properties: {a: {type: array, +list: set, +parameter-source: k, items: {type: string, +verb: example.com/a, +parameterized-by: k, +parameter-expression: "self.split('/')[0]"}}}`)
	if errs, warnings := validator().Validate(twin, nil), validator().Warnings(twin, nil); len(errs)+len(warnings) != 0 {
		t.Errorf("the twin: %v, %q", errs, warnings)
	}
}

// TestCostlyExpressions checks that each stored expression that exceeds the bounds causes one warning,
// and that there are no more warnings than the limit.
func TestCostlyExpressions(t *testing.T) {
	costly := func(i int) string {
		return fmt.Sprintf(`+parameter-expression: "[self]%s.size() == %d ? self : self"`, strings.Repeat(`.map(a,{a:a})`, 22), i)
	}
	var many strings.Builder
	for i := range MaxWarnings + 2 {
		fmt.Fprintf(&many, "p%02d: {type: string, %s}, ", i, costly(i))
	}
	for _, test := range []struct {
		name, schema string
		want         int
	}{
		{"one", "a: {type: string, " + costly(1) + "}", 1},
		{"one in two places", "a: {type: string, " + costly(1) + "}, b: {type: string, " + costly(1) + "}", 1},
		{"two", "a: {type: string, " + costly(1) + "}, b: {type: string, " + costly(2) + "}", 2},
		{"one below the other", "a: {type: object, " + costly(1) + ", properties: {b: {type: string, " + costly(2) + "}}}", 2},
		{"more than the limit", many.String(), MaxWarnings},
	} {
		got := validator().Warnings(definition(t, nil, "properties: {"+test.schema+"}"), nil)
		if len(got) != test.want {
			t.Errorf("%s: %d warnings, want %d: %q", test.name, len(got), test.want, got)
		}
		for _, text := range got {
			if !strings.Contains(text, "computed key") {
				t.Errorf("%s: %q is not about the expression", test.name, text)
			}
		}
	}
}

// TestResourcesOfKubernetes checks that a definition of a resource that Kubernetes has itself can't
// declare permissions, because RBAC's escalation check knows other permissions of that resource.
//
// Attack: a definition with the name of an API of Kubernetes that is not served, to grant oneself its excluded permission
// Answer: the definition is refused
// Was: got through; now the definition is refused
func TestResourcesOfKubernetes(t *testing.T) {
	named := func(plural, group string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Names.Plural, crd.Spec.Group, crd.Name = plural, group, plural+"."+group
		}
	}
	const marked, plain = `properties: {spec: {type: object, +verb: specification, +excluded: true}}`, `properties: {spec: {type: object}}`
	for _, test := range []struct {
		plural, group, schema string
		refused               bool
	}{
		{"evictionrequests", "lifecycle.k8s.io", marked, true},
		{"evictionrequests", "lifecycle.k8s.io", plain, false},
		{"evictionrequests", "lifecycle.example.com", marked, false},
		{"widgets", "lifecycle.k8s.io", marked, false},
	} {
		errs := validator().Validate(definition(t, named(test.plural, test.group), test.schema), nil)
		if refused := len(errs) > 0 && errs[0].Field == "spec.names.plural"; refused != test.refused || len(errs) > 1 {
			t.Errorf("%s.%s: %v", test.plural, test.group, errs)
		}
	}
}
