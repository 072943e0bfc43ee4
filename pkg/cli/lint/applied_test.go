// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestLostSinceApplied checks that a definition is compared with what kubectl applied last. A server without the patches
// drops all permission extensions, and keeps the annotation.
func TestLostSinceApplied(t *testing.T) {
	var decoded map[string]any
	if err := yaml.Unmarshal([]byte(storedDefinition), &decoded); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	const (
		again = ", unlike in the configuration that kubectl applied last: apply the file of the definition again"
		none  = "the definition has no permission extension any more" + again
		open  = ".spec.secret is no longer excluded" + again
	)
	dropped := func(s string) string {
		return regexp.MustCompile(`\n +x-kubernetes-permission-[^\n]*`).ReplaceAllString(s, "")
	}
	replaced := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	same := func(s string) string { return s }
	for name, tc := range map[string]struct {
		annotation string
		change     func(string) string
		want       []string
	}{
		"written by an unpatched server": {string(asJSON), dropped, []string{none, open}},
		"as applied":                     {string(asJSON), same, nil},
		"one exclusion less":             {string(asJSON), replaced("excluded: true", "excluded: false"), []string{open}},
		"one exclusion more":             {strings.Replace(string(asJSON), `excluded":true`, `excluded":false`, 1), same, nil},
		"not applied":                    {"", dropped, nil},
		"not JSON":                       {"{", dropped, nil},
		"not an object":                  {"[1]", dropped, nil},
		"empty":                          {" ", dropped, nil},
	} {
		metadata := "metadata:\n  name: boxes.example.com\n"
		if tc.annotation != "" {
			metadata += "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: '" + tc.annotation + "'\n"
		}
		text := strings.Replace(tc.change(storedDefinition), "metadata: {name: boxes.example.com}\n", metadata, 1)
		for form, data := range map[string]string{"alone": text, "in a list": "kind: List\nitems:\n- " + strings.ReplaceAll(text, "\n", "\n  ")} {
			found, looked, err := File("crds.yaml", []byte(data))
			if err != nil || looked != 1 {
				t.Errorf("%s, %s: %v, looked at %d", name, form, err, looked)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Message)
				if f.Level != Warning || f.Line == 0 {
					t.Errorf("%s, %s: %v", name, form, f)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, %s: %s", name, form, diff)
			}
		}
	}
}
