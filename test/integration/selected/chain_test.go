// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// printed holds the fields of a printed record that the test checks.
type printed struct {
	Origin   string
	Caller   struct{ Name string }
	Chain    []struct{ Via, By string }
	Selected *struct{ Kind, Name string }
	Verb     string
	Object   struct{ Resource, Name string }
	Code     int
}

// TestAuditChain checks that `kube-granular audit chain` reads from the audit log who did what,
// with which selected role, and on whose behalf.
func TestAuditChain(t *testing.T) {
	policy(t, on, "logged", "jane", "edit")
	jane := person("jane")
	const maps = "/api/v1/namespaces/logged/configmaps"
	request{as: jane, method: "POST", path: maps, body: `{"metadata":{"name":"ambient"}}`}.eventually(t, 201)
	request{as: jane, method: "POST", path: maps, body: `{"metadata":{"name":"selected"}}`,
		selects: []string{clusterRole("edit")}}.want(t, 201)
	request{as: jane, method: "DELETE", path: maps + "/selected", selects: []string{clusterRole("view")}}.want(t, 403)
	acting := http.Header{"Impersonate-User": {"jane"}}
	request{as: master, method: "DELETE", path: maps + "/ambient", header: acting}.want(t, 200)

	read := func(args ...string) (out []string) {
		t.Helper()
		var list struct{ Items []printed }
		args = append(args, "-o", "json", "-n", "logged", "--resource", "configmaps")
		if err := json.Unmarshal([]byte(harness.AuditChain(t, auditLog, args...)), &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Items {
			// Skip the refused tries that were made before the server knew the binding.
			if r.Code == http.StatusForbidden && r.Selected == nil {
				continue
			}
			text := []string{r.Origin, r.Caller.Name, r.Verb, r.Object.Name, http.StatusText(r.Code)}
			if r.Selected != nil {
				text = append(text, r.Selected.Kind, r.Selected.Name)
			}
			for _, e := range r.Chain {
				text = append(text, e.Via, e.By)
			}
			out = append(out, strings.Join(text, " "))
		}
		return out
	}
	behalf := []string{
		"jane jane create selected Created ClusterRole edit",
		"jane jane delete selected Forbidden ClusterRole view",
		"root jane delete ambient OK Impersonation root",
	}
	if got := read(); !slices.Equal(got, behalf) {
		t.Errorf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(behalf, "\n"))
	}
	// The name of the created object is only in the response, and the log has no responses. So
	// the record of the creation may be missing here.
	if got := read("--name", "selected"); !slices.Equal(got, behalf[1:2]) && !slices.Equal(got, behalf[:2]) {
		t.Errorf("by name: %q", got)
	}
	if got := read("--user", "root"); !slices.Equal(got, behalf[2:]) {
		t.Errorf("by user: %q", got)
	}
	if got := read("--all"); len(got) != 4 || got[0] != "jane jane create ambient Created" {
		t.Errorf("all: %q", got)
	}
	if got := read("--until", "1h"); len(got) > 0 {
		t.Errorf("an hour ago: %q", got)
	}
	table := harness.AuditChain(t, auditLog, "-n", "logged")
	for _, says := range []string{"TIME", "ON-BEHALF-OF", "ClusterRole/view", "configmaps logged selected"} {
		if !strings.Contains(table, says) {
			t.Errorf("there is no %q in\n%s", says, table)
		}
	}
}
