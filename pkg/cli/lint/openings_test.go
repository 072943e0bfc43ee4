// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"
	"testing"
)

const storedDefinition = `kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              a: {type: string}
              secret:
                type: string
                x-kubernetes-permission-verb: example.com/secret
                x-kubernetes-permission-excluded: true
`

// TestOpeningsOffline checks that a definition is compared with the stored one as the server compares it.
func TestOpeningsOffline(t *testing.T) {
	const needs = ", which needs the verb granular:permissionExclusion"
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"the same":                     {"", "", nil},
		"another name":                 {"boxes.example.com", "other.example.com", nil},
		"a new field":                  {"a: {type: string}", "b: {type: string}", nil},
		"excluded is false":            {"excluded: true", "excluded: false", []string{".spec.secret is no longer excluded" + needs}},
		"another verb":                 {"verb: example.com/secret", "verb: example.com/mine", []string{".spec.secret can be changed with another permission, granular:example.com/mine" + needs}},
		"another field":                {"secret:\n", "hidden:\n", []string{"the excluded field .spec.secret is not in the schema any more" + needs}},
		"a version that is not stored": {"name: v1", "name: v2", nil},
		"a version that is not stored, open": {"name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties:\n              a: {type: string}\n              secret:\n                type: string\n                x-kubernetes-permission-verb: example.com/secret\n                x-kubernetes-permission-excluded: true\n",
			"name: v2\n    served: true\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties:\n              a: {type: string}\n              secret: {type: string}\n",
			[]string{".spec.secret is no longer excluded" + needs, "the definition has no permission extension any more" + needs}},
	} {
		if !strings.Contains(storedDefinition, test.old) {
			t.Fatalf("%s: %q is not in the definition", name, test.old)
		}
		found, err := Openings("new.yaml", []byte(strings.Replace(storedDefinition, test.old, test.new, 1)), []byte("kind: List\nitems:\n- "+strings.ReplaceAll(storedDefinition, "\n", "\n  ")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Message)
			if f.Level != Warning || f.Line == 0 || f.File != "new.yaml" || f.Object != "CustomResourceDefinition boxes.example.com" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
