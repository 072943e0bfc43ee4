// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestLearningPolicy checks the audit policy of `kube-granular up --audit-log`: its log has no content of a
// Secret or ConfigMap and no token, on any path by which they reach the server or leave it. And
// role and check find in it what they need, also for a client that replaces whole objects.
func TestLearningPolicy(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	c := harness.Start(t, "--demo=false", "--audit-log", log)
	client := harness.Administrator(t, c)
	harness.Allow(t, client, "jane", rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	const canary = "bWVkaXVtLXJhcmUtY2FuYXJ5" // in base64, as the content of a Secret is written
	for _, kind := range []struct{ path, body string }{
		{"/api/v1/namespaces/default/secrets", `{"metadata":{"name":"kept"},"data":{"password":"` + canary + `"}}`},
		{mapsPath, `{"metadata":{"name":"kept"},"data":{"password":"` + canary + `"}}`},
	} {
		for _, s := range []step{
			{method: http.MethodPost, path: kind.path, body: kind.body},
			{method: http.MethodGet, path: kind.path + "/kept"},
			{method: http.MethodGet, path: kind.path},
			{method: http.MethodPut, path: kind.path + "/kept", body: kind.body},
			{method: http.MethodPatch, path: kind.path + "/kept", contentType: "application/merge-patch+json", body: `{"data":{"other":"` + canary + `"}}`},
			{method: http.MethodPatch, path: kind.path + "/kept?fieldManager=m&force=true", contentType: "application/apply-patch+yaml",
				body: strings.Replace(kind.body, "{", `{"apiVersion":"v1","kind":"`+map[bool]string{true: "Secret", false: "ConfigMap"}[strings.HasSuffix(kind.path, "secrets")]+`",`, 1)},
			{method: http.MethodPost, path: kind.path + "?dryRun=All", body: strings.Replace(kind.body, "kept", "tried", 1)},
			{method: http.MethodDelete, path: kind.path + "/kept"},
			{method: http.MethodPost, path: kind.path, body: kind.body},
			{method: http.MethodDelete, path: kind.path},
		} {
			if code, text, err := harness.Request(c, "", s.method, s.path, s.contentType, s.body); err != nil || code >= 300 {
				t.Fatal(s.method, s.path, code, text, err)
			}
		}
	}
	admin(t, c, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"robot"}}`)
	issued := admin(t, c, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/robot/token", `{"spec":{}}`)
	_, token, _ := strings.Cut(issued, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	if len(token) < 100 {
		t.Fatal("no token was issued:", issued)
	}
	admin(t, c, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"`+token+`"}}`)
	if err := do(t, c, "jane"); err != nil {
		t.Fatal(err)
	}

	text, errs, err := granularAt(t, c.Kubeconfig("admin"), "", "role", "--subject", "user:jane", "--from-audit", log)
	if err != nil || strings.Contains(errs, "warning") {
		t.Fatal(err, errs)
	}
	for _, want := range []string{"granular:annotation(ci.example)", "granular:label(team.example)", "granular:podTemplateImage", "granular:replicas", "granular:condition(Progressing)"} {
		if !strings.Contains(text, "- "+want+"\n") {
			t.Errorf("%s is not learned:\n%s", want, text)
		}
	}
	out, _, err := granularAt(t, c.Kubeconfig("admin"), text, "check", "-f", "-", "--audit-log", log)
	if err != nil || !strings.Contains(out, " 0 refused, 0 are not provable") {
		t.Errorf("check: %v\n%s", err, out)
	}

	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{canary, token} {
		if found := strings.Index(string(data), secret); found >= 0 {
			t.Errorf("in the audit log: %s", data[max(0, found-300):found+20])
		}
	}
	// The twin: the content of other objects is there, and the events of what is kept secret are.
	for _, want := range []string{`"replicas":3`, `"resource":"secrets","namespace":"default","name":"kept"`, `"subresource":"token"`, `"resource":"tokenreviews"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in the audit log", want)
		}
	}
}
