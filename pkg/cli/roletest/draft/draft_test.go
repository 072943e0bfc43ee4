// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/cli/roletest/format"
)

func request(verb, subresource string, patch types.PatchType, body string) changes.Request {
	return changes.Request{
		Verb: verb, Kind: &kinds.Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespaced: true},
		Subresource: subresource, Namespace: "shop", Name: "a", PatchType: patch, Body: []byte(body), Query: url.Values{"fieldManager": {"m"}, "force": {"true"}},
	}
}

// TestDraftIsATest holds that each draft is a valid test with a case for each request, and that it has no
// values of Secrets.
func TestDraftIsATest(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop"}}`
	stored := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
		"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "1", "managedFields": []any{},
		"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "hidden"},
	}, "data": map[string]any{"password": "hidden"}, "status": map[string]any{"a": "b"}}
	for _, subject := range []rbacv1.Subject{
		{Kind: rbacv1.UserKind, Name: "jane"}, {Kind: rbacv1.GroupKind, Name: "dev"}, {Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "robot"},
	} {
		d := Draft{
			Grants: []roles.Grant{{Namespace: "shop", Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}}},
			Name:   "r", Subject: subject, Objects: []map[string]any{stored},
			Requests: []changes.Request{
				request("create", "", "", object), request("patch", "", types.ApplyPatchType, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}\n"),
				request("patch", "status", types.MergePatchType, `{"a":{"b":1}}`), request("patch", "", types.StrategicMergePatchType, `{"a":null}`),
				request("patch", "", types.JSONPatchType, `[{"op":"remove","path":"/a"}]`), request("update", "", "", object),
			},
			Reads: []changes.Read{{Verb: "get", Resource: "secrets", Namespace: "shop", Name: "a"}, {Verb: "list", Group: "apps", Resource: "deployments", Namespace: "shop"}},
		}
		var out bytes.Buffer
		if err := d.Write(&out); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "a.test.yaml")
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		test, err := format.Read(file, false)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		var names []string
		for i := range test.Cases {
			names = append(names, test.Cases[i].Request())
		}
		if got := strings.Join(names, " "); got != "get get create apply patch patch patch update delete" {
			t.Errorf("%s\n%s", got, out.String())
		}
		if strings.Contains(out.String(), "can't be a case") || strings.Contains(out.String(), "hidden") {
			t.Errorf("%s", out.String())
		}
	}
}
