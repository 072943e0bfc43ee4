// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestPluginMatrix checks that the cells of the matrix follow the roles in the cluster: a new
// binding changes a cell, and its removal changes it back.
func TestPluginMatrix(t *testing.T) {
	must(t, "", "create", "namespace", "matrix")
	must(t, `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "scaler", "namespace": "matrix"}, "rules": [
		{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["granular", "granular:replicas", "granular:label(team.example)"]},
		{"apiGroups": ["apps"], "resources": ["deployments/status"], "resourceNames": ["web"], "verbs": ["granular", "granular:status"]}]}`, "apply", "-f", "-")
	must(t, "", "create", "rolebinding", "scaler", "-n", "matrix", "--role", "scaler", "--user", "mia", "--serviceaccount", "matrix:bot")
	must(t, "", "create", "clusterrolebinding", "mia-edits", "--clusterrole", "edit", "--group", "matrix-editors")

	type matrix struct {
		Subjects []string
		Rows     []struct {
			Resource, Verb string
			Cells          []struct{ Level, Verb, Binding string }
		}
	}
	cells := func(subject string, args ...string) map[string]string {
		t.Helper()
		out, errs, err := granular(t, "", append([]string{"matrix", "-o", "json", "--resource", "deployments"}, args...)...)
		if err != nil || errs != "" {
			t.Fatal(err, errs)
		}
		var m matrix
		if err := json.Unmarshal([]byte(out), &m); err != nil {
			t.Fatal(err)
		}
		column := slices.Index(m.Subjects, subject)
		if column < 0 {
			t.Fatalf("%s is none of %v", subject, m.Subjects)
		}
		all := map[string]string{}
		for _, r := range m.Rows {
			all[r.Resource+" "+r.Verb] = r.Cells[column].Level
		}
		return all
	}
	holds := func(when string, all map[string]string, want map[string]string) {
		t.Helper()
		for cell, level := range want {
			if got, ok := all[cell]; !ok || got != level {
				t.Errorf("%s: %s is %q, wanted %s", when, cell, got, level)
			}
		}
	}
	const of = "deployments.apps "
	scaler := map[string]string{
		of + "granular:replicas": "yes", of + "granular:specification": "no", of + "granular:label(<label-key prefix>)": "some",
		"deployments.apps/status granular:status": "some", "deployments.apps/status granular:conditions": "some",
	}
	holds("a user", cells("user:mia", "-n", "matrix"), scaler)
	holds("a service account", cells("serviceaccount:matrix/bot", "-n", "matrix", "--subject", "sa:matrix/bot"), scaler)
	holds("in another namespace", cells("user:mia", "-n", "default", "--subject", "mia"), map[string]string{of + "granular:replicas": "no"})
	holds("in all namespaces", cells("user:mia", "-A"), map[string]string{of + "granular:replicas": "some"})
	holds("an editor", cells("group:matrix-editors", "-A"), map[string]string{of + "granular:specification": "yes", "deployments.apps/status granular:status": "no"})
	must(t, "", "delete", "rolebinding", "scaler", "-n", "matrix")
	holds("without the binding", cells("user:mia", "-n", "matrix", "--subject", "mia"), map[string]string{of + "granular:replicas": "no", of + "granular:label(<label-key prefix>)": "no"})

	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"--resource", "nothing"}, "--resource: the server has no resource"},
		{[]string{"--subject", "robot:r2"}, "--subject: subject"},
		{[]string{"-o", "pdf"}, "csv, html"},
	} {
		if _, errs, err := granular(t, "", append([]string{"matrix"}, tc.args...)...); err == nil || !strings.Contains(errs, tc.says) {
			t.Errorf("%v: %v %s", tc.args, err, errs)
		}
	}
}

// matrixSteps is a script that operates the heat map by keyboard in a browser, as a user would.
const matrixSteps = `<script>
"use strict";
addEventListener("load", () => {
  const wrong = [];
  const holds = (what, is) => { if (!is) wrong.push(what); };
  const at = () => document.activeElement;
  const press = (key) => at().dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const lines = () => [...main.querySelectorAll("tr.resource")];
  holds("all resources are there", lines().length > 40);
  holds("all are closed", main.querySelectorAll("td.yes, td.no, td.some").length === 0);
  const pods = lines().find(l => l.textContent.includes("deployments.apps "));
  pods.cells[0].focus();
  press("Enter");
  holds("Enter opens a resource", at().getAttribute("aria-expanded") === "true" && main.querySelectorAll("td.yes").length > 20);
  press("ArrowRight");
  holds("the line tells how many", about.textContent.includes("permissions of deployments.apps"));
  press("ArrowDown");
  holds("a cell tells who and by what", about.textContent.includes("deployments.apps, .metadata: yes, by"));
  press("End");
  holds("End goes to the last subject", at().cellIndex === data.subjects.length);
  press("Home"); press("ArrowUp"); press("Enter");
  holds("Enter closes it", at().getAttribute("aria-expanded") === "false");
  search.value = "granular:podTemplateImage statefulset"; search.dispatchEvent(new Event("input", {bubbles: true}));
  holds("the search opens what it finds", lines().length === 1 && main.querySelectorAll("tbody code").length > 0 &&
    [...main.querySelectorAll("tbody code")].every(c => c.textContent.startsWith("granular:podTemplateImage")));
  search.value = "nothing is called like this"; search.dispatchEvent(new Event("input", {bubbles: true}));
  holds("no hit is said", main.textContent.includes("0 permissions"));
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
  holds("Escape shows all again", lines().length > 40);
  const light = getComputedStyle(document.body).backgroundColor;
  document.getElementById("theme").click();
  holds("light and dark differ", getComputedStyle(document.body).backgroundColor !== light);
  document.getElementById("theme").click();
  holds("nothing was loaded", performance.getEntriesByType("resource").filter(r => !r.name.startsWith("data:")).length === 0);
  document.title = "driven: " + (wrong.join("; ") || "all held");
});
</script>`

// TestMatrixInBrowser runs matrixSteps on the heat map in a browser, and takes screenshots.
func TestMatrixInBrowser(t *testing.T) {
	must(t, "", "create", "clusterrolebinding", "matrix-viewers", "--clusterrole", "view", "--group", "matrix-viewers")
	page, errs, err := granular(t, "", "matrix", "-A", "-o", "html", "--subject", "group:system:masters", "--subject", "group:matrix-viewers", "--subject", "group:matrix-editors")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	drive(t, page, matrixSteps, "matrix-")
}
