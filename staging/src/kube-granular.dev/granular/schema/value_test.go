// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompileParametersOfValues(t *testing.T) {
	tree, err := compileYAML(t, `
root:
  properties:
    image: {type: string, +verb: "image,imageFrom", +parameterized-by: self, +parameter-treatment: image-repository-prefix}
    mode: {type: string, +verb: mode, +parameterized-by: self, +excluded: true}
    taints:
      +verb: taints
      items: {$ref: "#/definitions/Taint", +verb: taint, +parameterized-by: self.key}
    template:
      +scope: podTemplate
      properties: {image: {$ref: "#/definitions/Image", +verb: "image,imageFrom", +parameterized-by: self}}
Taint: {type: object, properties: {key: {$ref: "#/definitions/Image"}, value: {type: string}}}
Image: {type: string}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := `root (object)
  image (leaf) image imageFrom(self image-repository-prefix)
  metadata (object)
  mode (leaf) mode(self) excluded
  taints (list) taints
    * (leaf) taint(self.key)
  template (object) podTemplate
    image (leaf) podTemplateImage podTemplateImageFrom(self)
`
	if diff := cmp.Diff(want, tree.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTakesValue checks which permission of a node makes its parameter from the value, also if a scope
// begins at the node.
func TestTakesValue(t *testing.T) {
	const key = "type: object, properties: {key: {type: string}}"
	for field, want := range map[string]string{
		"{type: string, +verb: mode, +parameterized-by: self}":                      "mode",
		`{type: string, +verb: "image,imageFrom", +parameterized-by: self}`:         "imageFrom",
		"{" + key + ", +verb: taint, +parameterized-by: self.key, +scope: tainted}": "taint",
		"{type: string, +verb: mode}":                                               "",
	} {
		tree, err := compileYAML(t, "root: {properties: {f: "+field+"}}")
		if err != nil {
			t.Fatal(err)
		}
		got := tree.Root.Child("f").TakesValue()
		if (got != nil) != (want != "") || got != nil && got.Name != want {
			t.Errorf("%s: %v", field, got)
		}
	}
}

func TestCompileRefusesParametersOfValues(t *testing.T) {
	for _, test := range []struct{ name, field, want string }{
		{"of an object", "{type: object, +verb: a, +parameterized-by: self}",
			"the value is not a string, an integer or a boolean"},
		{"of a number", "{type: number, +verb: a, +parameterized-by: self}",
			"is not a string, an integer or a boolean"},
		{"of a list", "{type: array, items: {type: string}, +verb: a, +parameterized-by: self}",
			"is not a string, an integer or a boolean"},
		{"of anything", "{+verb: a, +parameterized-by: self}", "is not a string, an integer or a boolean"},
		{"of either", "{type: [string, integer], +verb: a, +parameterized-by: self}",
			"is not a string, an integer or a boolean"},
		{"of an int-or-string", "{type: string, format: int-or-string, +verb: a, +parameterized-by: self}",
			"is not a string, an integer or a boolean"},
		{"of no field", "{type: object, +verb: a, +parameterized-by: self.k, properties: {l: {type: string}}}",
			"names a field of self that the schema does not have"},
		{"of a nameless field",
			"{type: object, +verb: a, +parameterized-by: self., properties: {l: {type: string}}}",
			"not a string, an integer or a boolean"},
		{"of a deeper field",
			"{type: object, +verb: a, +parameterized-by: self.k.l, properties: {k: {properties: {l: {type: string}}}}}",
			"names a field of self that the schema does not have"},
		{"of a field that is an object",
			"{type: object, +verb: a, +parameterized-by: self.k, properties: {k: {type: object}}}",
			"that field is not a string"},
		{"of a field that is missing",
			`{type: object, +verb: a, +parameterized-by: self.k, properties: {k: {$ref: "#/definitions/A"}}}`,
			"definition A is missing"},
		{"of a value that is missing", `{+verb: a, +parameterized-by: self, allOf: [{$ref: "#/definitions/A"}]}`,
			"definition A is missing"},
		{"of a value that refers to one that is missing", `{+verb: a, +parameterized-by: self, allOf: [{$ref: "#/definitions/B"}]}`,
			"definition A is missing"},
		{"a source of that name", "{+parameter-source: self, additionalProperties: {+verb: a}}",
			"means the value of a field"},
		{"a source of a field", "{+parameter-source: self.key, additionalProperties: {+verb: a}}",
			"means the value of a field"},
		{"two permissions of a key",
			`{+parameter-source: k, additionalProperties: {+verb: "a,b", +parameterized-by: k}}`,
			"two permissions need x-kubernetes-permission-parameterized-by: self"},
		{"two permissions of nothing", `{type: string, +verb: "a,b"}`,
			"two permissions need x-kubernetes-permission-parameterized-by: self"},
		{"three permissions", `{type: string, +verb: "a,b,c", +parameterized-by: self}`, "permission: "},
		{"a malformed general one", `{type: string, +verb: "A,b", +parameterized-by: self}`, "permission: "},
		{"a malformed specific one", `{type: string, +verb: "a, b", +parameterized-by: self}`, "permission: "},
		{"a malformed specific one in a scope", `{+scope: s, properties: {f: {type: string, +verb: "a,B", +parameterized-by: self}}}`,
			"must begin with a lower-case letter"},
		{"nothing before the comma", `{type: string, +verb: ",b", +parameterized-by: self}`, "permission: "},
		{"nothing behind it", `{type: string, +verb: "a,", +parameterized-by: self}`, "permission: "},
		{"a reserved one", `{type: string, +verb: "a,protectedLabel", +parameterized-by: self}`, "reserved"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := compileYAML(t, "root: {properties: {f: "+test.field+"}}\nB: {allOf: [{$ref: '#/definitions/A'}]}")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
