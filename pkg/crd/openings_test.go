// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// box is a schema with an excluded field in most places where one can be. Tests replace parts of it.
const box = `
properties:
  lock: {type: string, +verb: example.com/lock, +excluded: true}
  spec:
    type: object
    +verb: specification
    properties:
      size: {type: integer}
      secret:
        type: object
        +verb: example.com/secret
        +excluded: true
        properties:
          a: {type: string}
          b: {type: string, +verb: example.com/part}
      doors:
        type: array
        +list: map
        +keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string, +parameter-source: door}
            guard: {type: string, +verb: example.com/guard, +excluded: true, +parameterized-by: door, +parameter-treatment: slash-delimited-prefix}
      pools:
        type: object
        +parameter-source: pool
        additionalProperties: {type: string, +verb: example.com/pool, +excluded: true, +parameterized-by: pool, +parameter-expression: "self.lowerAscii()"}
      wide:
        type: object
        +verb: example.com/wide
        +excluded: true
        properties:
          inner: {type: string}
`

// plain is box as a client leaves it that does not know permission extensions.
func plain(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "+verb") || strings.HasPrefix(trimmed, "+excluded") || strings.HasPrefix(trimmed, "+parameter") {
			continue
		}
		if at := strings.Index(line, ", +verb"); at >= 0 {
			line = line[:at] + "}\n"
		}
		out = append(out, strings.ReplaceAll(line, ", +parameter-source: door", ""))
	}
	return strings.Join(out, "")
}

// weakenings are updates of box that weaken an exclusion. kept says whether the stored extensions
// can be put back.
var weakenings = []struct {
	name, old, new string
	field, what    string
	kept           bool
}{
	{"the extension is removed", "        +verb: example.com/secret\n        +excluded: true\n", "", ".spec.secret", "is no longer excluded", true},
	{"excluded is false", "        +verb: example.com/secret\n        +excluded: true\n", "        +verb: example.com/secret\n        +excluded: false\n", ".spec.secret", "is no longer excluded", true},
	{"another verb", "example.com/secret", "example.com/mine", ".spec.secret", "can be changed with another permission, granular:example.com/mine", true},
	{"another general verb above", "    +verb: specification\n", "    +verb: specification\n    +excluded: true\n", ".spec.doors[*].guard", "can be changed with another permission, granular:specification", true},
	{"an included verb below", "a: {type: string}", "a: {type: string, +verb: labels}", ".spec.secret.a", "can be changed with another permission, granular:labels", true},
	{"an included verb at a new field below", "a: {type: string}", "a: {type: string}\n          more: {type: string, +verb: labels}", ".spec.secret.more", "can be changed with another permission, granular:labels", true},
	{"no parameter", ", +parameterized-by: door, +parameter-treatment: slash-delimited-prefix", "", ".spec.doors[*].guard", "can be changed with another permission, granular:example.com/guard", true},
	{"another treatment", ", +parameter-treatment: slash-delimited-prefix", "", ".spec.doors[*].guard", "can be changed with another permission, granular:example.com/guard(…)", true},
	{"another expression", "self.lowerAscii()", "self.upperAscii()", ".spec.pools[*]", "can be changed with another permission, granular:example.com/pool(…)", true},
	{"a parameter of a value", "+parameterized-by: pool, +parameter-expression: \"self.lowerAscii()\"", "+parameterized-by: self", ".spec.pools[*]", "can be changed with another permission, granular:example.com/pool(…)", true},
	{"a scope", "    +verb: specification\n", "    +scope: podTemplate\n", ".spec.secret", "can be changed with another permission, granular:example.com/podTemplateSecret", true},
	{"the field is removed", "          inner: {type: string}\n", "", ".spec.wide", "gets another set of properties", false},
	{"the excluded field is removed", "      wide:\n        type: object\n        +verb: example.com/wide\n        +excluded: true\n        properties:\n          inner: {type: string}\n", "", ".spec.wide", "is not in the schema any more", false},
	{"the excluded field is renamed", "      wide:", "      wider:", ".spec.wide", "is not in the schema any more", false},
	{"a part with a permission is removed", "          b: {type: string, +verb: example.com/part}\n", "", ".spec.secret.b", "is not in the schema any more", false},
	{"another type", "inner: {type: string}", "inner: {type: integer}", ".spec.wide", "gets another type at .inner", false},
	{"the type of the field", "        properties:\n          inner: {type: string}\n", "        additionalProperties: {type: string}\n", ".spec.wide", "gets another set of properties", false},
	{"unknown fields are preserved", "          inner: {type: string}\n", "          inner: {type: object, +preserve: true}\n", ".spec.wide", "gets another type at .inner", false},
	{"a default", "inner: {type: string}", "inner: {type: string, default: x}", ".spec.wide", "gets another default at .inner", false},
	{"a default above", "    +verb: specification\n", "    +verb: specification\n    default: {wide: {inner: x}}\n", ".spec.wide", "gets another default", false},
	{"a default of a new field below", "          inner: {type: string}\n", "          inner: {type: string}\n          more: {type: string, default: x}\n", ".spec.wide", "gets another set of properties", false},
	{"a default deep in a new field below", "          inner: {type: string}\n", "          inner: {type: string}\n          more: {type: object, properties: {deep: {type: string, default: x}}}\n", ".spec.wide", "gets another set of properties", false},
	{"a field at the root gets another type", "  lock: {type: string,", "  lock: {type: integer,", ".lock", "gets another type", false},
	{"another key of a list", "+keys: [name]", "+keys: [name, size]", ".spec.doors[*].guard", "gets another list", false},
}

// TestOpenings checks that each update that weakens an exclusion is found, and that the stored
// extensions close it again where that is possible.
//
// Attack: a caller that may update a definition removes or falsifies an exclusion: the extension, its verb, its parameter, a verb above or below, the field, its type, keys or default
// Answer: the server finds each and keeps the stored extensions, or refuses the update
// Held by: TestExclusionsOfDefinitions
func TestOpenings(t *testing.T) {
	v := validator()
	stored := definition(t, nil, box)
	if errs := v.Validate(stored, nil); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, test := range weakenings {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(box, test.old) {
				t.Fatalf("%q is not in the schema", test.old)
			}
			updated := definition(t, nil, strings.Replace(box, test.old, test.new, 1))
			found := v.Openings(updated, stored)
			has := false
			for _, o := range found {
				has = has || o.Version == "v1" && o.Field == test.field && o.What == test.what
			}
			if !has {
				t.Fatalf("found %v, want %s %s", found, test.field, test.what)
			}
			kept := v.Keep(updated, stored, found)
			if (kept != nil) != test.kept {
				t.Fatalf("kept is %v, want %v", kept != nil, test.kept)
			}
			if kept != nil && len(v.Openings(kept, stored)) > 0 {
				t.Errorf("kept opens %v", v.Openings(kept, stored))
			}
		})
	}
}

// TestNoOpenings checks that updates which weaken nothing are no openings.
func TestNoOpenings(t *testing.T) {
	v := validator()
	stored := definition(t, nil, box)
	for name, updated := range map[string]*apiextensions.CustomResourceDefinition{
		"the same":                      definition(t, nil, box),
		"a new field":                   definition(t, nil, strings.Replace(box, "size: {type: integer}", "size: {type: integer}\n      more: {type: string}", 1)),
		"another type beside":           definition(t, nil, strings.Replace(box, "size: {type: integer}", "size: {type: string, default: x}", 1)),
		"a new field below":             definition(t, nil, strings.Replace(box, "inner: {type: string}", "inner: {type: string}\n          more: {type: string}", 1)),
		"another validation":            definition(t, nil, strings.Replace(box, "inner: {type: string}", "inner: {type: string, maxLength: 3}", 1)),
		"a new exclusion":               definition(t, nil, strings.Replace(box, "size: {type: integer}", "size: {type: integer, +verb: example.com/size, +excluded: true}", 1)),
		"a part is excluded":            definition(t, nil, strings.Replace(box, "a: {type: string}", "a: {type: string, +verb: example.com/secret, +excluded: true}", 1)),
		"less covers a part":            definition(t, nil, strings.Replace(box, ", +verb: example.com/part", "", 1)),
		"an included permission goes":   definition(t, nil, strings.Replace(box, "    +verb: specification\n", "", 1)),
		"another version, the same":     definition(t, nil, box, box),
		"a version that is not used":    definition(t, func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[1].Served = false }, box, box),
		"another name of the parameter": definition(t, nil, strings.NewReplacer("+parameter-source: door", "+parameter-source: gate", "+parameterized-by: door", "+parameterized-by: gate").Replace(box)),
	} {
		if errs := v.Validate(updated, stored); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		if found := v.Openings(updated, stored); len(found) > 0 {
			t.Errorf("%s: found %v", name, found)
		}
	}
}
