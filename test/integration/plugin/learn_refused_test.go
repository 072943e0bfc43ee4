// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestLearnFromRefusals checks the way from no rights at all to those that are needed: let it run, let
// it fail, grant what was refused. A neighbouring request stays refused. Dry runs of the plugin are no use.
func TestLearnFromRefusals(t *testing.T) {
	flags, log := harness.LogBodies(t)
	c := harness.Start(t, append([]string{"--demo=false", "--"}, flags...)...)
	client := harness.Administrator(t, c)
	learn := func(user string, args ...string) string {
		t.Helper()
		out, errs, err := granularAt(t, c.Kubeconfig("admin"), "", append([]string{"role", "--subject", "user:" + user, "--from-audit", log}, args...)...)
		if err != nil {
			t.Fatal(err, errs)
		}
		return out
	}
	send := func(user, method, path, body string) (int, string) {
		t.Helper()
		code, text, err := harness.Request(c, user, method, path, "application/merge-patch+json", body)
		if err != nil {
			t.Fatal(err)
		}
		return code, text
	}
	if err := do(t, c, "trier"); err == nil {
		t.Fatal("who has no rights was refused nothing")
	}
	if out := learn("trier"); strings.Contains(out, "kind: Role") || !strings.Contains(out, "forbidden requests are not included") {
		t.Errorf("without --forbidden:\n%s", out)
	}
	text := learn("trier", "--forbidden", "--apply")
	for _, want := range []string{
		"# from refused requests: get patch update on deployments.apps learned, default\n", "# from refused requests: create list on configmaps, default\n",
		"patch on deployments.apps/scale learned in default: refused: 1 request,", "which fields it would have changed is not known",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	harness.Until(t, "the learned role allows everything", func() bool { return do(t, c, "trier") == nil })
	for path, method := range map[string]string{"/apis/apps/v1/namespaces/default/deployments/other": http.MethodGet, mapsPath + "/other": http.MethodDelete,
		"/apis/apps/v1/namespaces/default/deployments": http.MethodGet, "/apis/apps/v1/namespaces/other/deployments/learned": http.MethodGet} {
		if code, answer := send("trier", method, path, ""); code != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", method, path, code, answer)
		}
	}
	// What was allowed later shows the fields, and replaces what was refused. The last four were refused.
	if with, without := harness.RulesIn(t, learn("trier", "--forbidden")), harness.RulesIn(t, learn("trier")); len(with) <= len(without) || strings.Contains(learn("trier", "--forbidden"), "refused requests: patch") {
		t.Errorf("with refused requests %v, without %v", with, without)
	}

	// If single fields were authorized, the event has the missing verb.
	harness.Allow(t, client, "fielder", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"granular"}})
	const labelled, replicated = `{"metadata":{"labels":{"team.example/tier":"x"}}}`, `{"spec":{"replicas":5}}`
	if code, answer := send("fielder", http.MethodPatch, webPath, labelled); code != http.StatusForbidden {
		t.Fatal(code, answer)
	}
	text = learn("fielder", "--forbidden", "--apply")
	if !strings.Contains(text, "# from refused requests: granular granular:label(team.example) on deployments.apps learned, default\n") {
		t.Errorf("a refused field:\n%s", text)
	}
	harness.Until(t, "the learned role allows the field", func() bool {
		code, _ := send("fielder", http.MethodPatch, webPath, labelled)
		return code == http.StatusOK
	})
	if code, answer := send("fielder", http.MethodPatch, webPath, replicated); code != http.StatusForbidden {
		t.Errorf("another field: %d %s", code, answer)
	}

	// can-i sends dry runs and reviews. They are not learned, refused or not.
	before := harness.RulesIn(t, learn("fielder"))
	_, _, _ = granularAt(t, c.Kubeconfig("admin"), "", "can-i", "deployments/learned", "-n", "default", "--as", "fielder", "-p", replicated)
	_, _, _ = granularAt(t, c.Kubeconfig("admin"), "", "can-i", "deployments/learned", "-n", "default", "--as", "fielder", "-p", `{"metadata":{"labels":{"team.example/tier":"y"}}}`)
	after := learn("fielder", "--forbidden")
	if !strings.Contains(after, "# dry runs and reviews of kubectl granular are not included: ") {
		t.Errorf("after can-i:\n%s", after)
	}
	if now := harness.RulesIn(t, learn("fielder")); len(now) != len(before) {
		t.Errorf("before can-i %v, after it %v", before, now)
	}
	if out, errs, err := granularAt(t, c.Kubeconfig("admin"), "", "role", "--forbidden", "--from-audit", log); err == nil || !strings.Contains(errs, "--forbidden needs --subject") {
		t.Error(out, errs, err)
	}
}
