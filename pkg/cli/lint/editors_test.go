// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCasesOfEditors holds that the linter finds errors in exactly those roles of test/gitops/schemas that are
// marked as refused. The test there holds the same of the JSON schema for editors.
func TestCasesOfEditors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "gitops", "schemas", "testdata", "roles.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Verbs   []string `json:"verbs"`
		Refused bool     `json:"refused"`
		Missed  bool     `json:"missed"` // by the JSON schema
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		role, err := yaml.Marshal(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"metadata": map[string]any{"name": "a"},
			"rules":    []any{map[string]any{"apiGroups": []string{"apps"}, "resources": []string{"deployments"}, "verbs": c.Verbs}}})
		if err != nil {
			t.Fatal(err)
		}
		found, _, err := File("role.yaml", role)
		if refused := slices.ContainsFunc(found, func(f Finding) bool { return f.Level == Error }); err != nil || refused != c.Refused {
			t.Errorf("%v: %v %v, want it refused: %t", c.Verbs, found, err, c.Refused)
		}
	}
}
