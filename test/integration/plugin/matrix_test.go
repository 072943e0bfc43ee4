// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestPluginMatrix checks that the cells of the matrix follow the roles in the cluster: a new
// binding changes a cell, and its removal changes it back.
func TestPluginMatrix(t *testing.T) {
	harness.MustKubectl(t, on, "", "create", "namespace", "matrix")
	harness.MustKubectl(t, on, `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "scaler", "namespace": "matrix"}, "rules": [
		{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["granular", "granular:replicas", "granular:label(team.example)"]},
		{"apiGroups": ["apps"], "resources": ["deployments/status"], "resourceNames": ["web"], "verbs": ["granular", "granular:status"]}]}`, "apply", "-f", "-")
	harness.MustKubectl(t, on, "", "create", "rolebinding", "scaler", "-n", "matrix", "--role", "scaler",
		"--user", "mia", "--serviceaccount", "matrix:bot")
	harness.MustKubectl(t, on, "", "create", "clusterrolebinding", "mia-edits", "--clusterrole", "edit", "--group", "matrix-editors")

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
	harness.MustKubectl(t, on, "", "delete", "rolebinding", "scaler", "-n", "matrix")
	holds("without the binding", cells("user:mia", "-n", "matrix", "--subject", "mia"), map[string]string{of + "granular:replicas": "no", of + "granular:label(<label-key prefix>)": "no"})

	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"--resource", "nothing"}, "--resource: the server has no resource"},
		{[]string{"--subject", "robot:r2"}, "--subject: subject"},
		{[]string{"-o", "pdf"}, "yaml, csv"},
		{[]string{"-o", "html"}, "kubectl granular ui -o html"},
	} {
		if _, errs, err := granular(t, "", append([]string{"matrix"}, tc.args...)...); err == nil || !strings.Contains(errs, tc.says) {
			t.Errorf("%v: %v %s", tc.args, err, errs)
		}
	}
}
