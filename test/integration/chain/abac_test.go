// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestDocumentedABAC checks what authorizers.md says about its ABAC policies, about AlwaysDeny,
// which has no opinion and so denies nothing for other authorizers, and about Node.
func TestDocumentedABAC(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "authorizers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, policies, ok := strings.Cut(string(text), "```json title=abac.jsonl\n")
	policies, _, end := strings.Cut(policies, "```")
	if !ok || !end {
		t.Fatal("the page shows no policies")
	}
	dir := t.TempDir()
	file, config := filepath.Join(dir, "abac.jsonl"), filepath.Join(dir, "authorization.yaml")
	replace(t, file, policies)
	replace(t, config, chained("- {type: AlwaysDeny, name: alwaysdeny}\n", node, "- {type: ABAC, name: abac}\n", rbac))
	c := harness.Start(t, "--authorization-config", config, "--", "--authorization-policy-file="+file)
	const web = "/apis/apps/v1/namespaces/default/deployments/web"
	for _, tc := range []struct {
		user, verb string
		want       bool
	}{
		{"writer", "patch", true},
		{"writer", "granular", true},
		{"writer", "granular:example.com/excluded", true},
		{"reader", "get", true},
		{"reader", "patch", false},
		{"reader", "granular", false},
		{"reader", "granular:labels", false},
		{"nobody", "granular", false},
	} {
		code, body, err := harness.Request(c, harness.Admin, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", harness.ContentTypes["json"],
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"`+tc.user+`","resourceAttributes":{"namespace":"default","verb":"`+tc.verb+`","group":"apps","resource":"deployments","name":"web"}}}`)
		if err != nil || code != 201 || strings.Contains(body, `"allowed":true`) != tc.want {
			t.Errorf("%s %s: %d %s %v, wanted %t", tc.user, tc.verb, code, body, err, tc.want)
		}
	}
	expect(t, sendTo(t, c, "writer", http.MethodPatch, web, "merge", label(1)), 200, "")
	expect(t, sendTo(t, c, "reader", http.MethodPatch, web, "merge", label(2)), 403, "cannot patch resource")
}
