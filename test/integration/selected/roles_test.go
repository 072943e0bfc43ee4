// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// TestRoles checks which requests are allowed while a caller selects a role, for roles of each
// kind. Each response must repeat the header, refusals too.
//
// Attack: another's role, a role of another namespace, or one that the caller has in part
// Answer: 403, the same as for a role that does not exist
func TestRoles(t *testing.T) {
	policy(t, on, "shop", "jane", "admin")
	bind(t, on, "", "jane", "ClusterRole", "view")
	apply(t, on, rbacPath+"namespaces/shop/roles", `{"metadata":{"name":"mine"},"rules":[{"apiGroups":[""],"resources":["services"],"verbs":["list"]}]}`,
		rbacPath+"namespaces/default/roles", `{"metadata":{"name":"mine"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}]}`)
	bind(t, on, "shop", "jane", "Role", "mine")
	jane := person("jane")
	request{as: jane, method: "GET", path: "/api/v1/namespaces/shop/services",
		selects: []string{role("shop", "mine")}}.eventually(t, 200)
	request{as: jane, method: "GET", path: "/api/v1/namespaces/shop/secrets"}.eventually(t, 200)
	request{as: jane, method: "GET", path: "/api/v1/pods"}.eventually(t, 200)
	for _, tc := range []struct {
		selects, path string
		status        int
	}{
		{clusterRole("view"), "/api/v1/namespaces/shop/pods", 200},
		{clusterRole("view"), "/api/v1/pods", 200},
		{clusterRole("view"), "/api/v1/namespaces/shop/secrets", 403},
		{clusterRole("view"), "/api/v1/namespaces/shop/pods?watch=1", 200},
		{clusterRole("view"), "/api/v1/namespaces/shop/secrets?watch=1", 403},
		{clusterRole("admin"), "/api/v1/namespaces/shop/secrets", 200},
		{clusterRole("admin"), "/api/v1/namespaces/default/pods", 403},
		{clusterRole("edit"), "/api/v1/namespaces/shop/secrets", 200}, // allowed: jane's role admin includes its rules
		{clusterRole("edit"), "/api/v1/namespaces/default/pods", 403},
		{clusterRole("cluster-admin"), "/api/v1/namespaces/shop/pods", 403},
		{clusterRole("none"), "/api/v1/namespaces/shop/pods", 403},
		{role("shop", "mine"), "/api/v1/namespaces/shop/services", 200},
		{role("shop", "mine"), "/api/v1/namespaces/shop/pods", 403},
		{role("default", "mine"), "/api/v1/namespaces/default/secrets", 403},
		{role("default", "mine"), "/api/v1/namespaces/shop/secrets", 403},
		{clusterRole("view"), "/apis", 200},
		{clusterRole("none"), "/api/v1", 200},
		{clusterRole("none"), "/healthz", 200},
		{clusterRole("none"), "/openapi/v3", 200},
		{clusterRole("none"), "/metrics", 403},
	} {
		got := request{as: jane, method: "GET", path: tc.path, selects: []string{tc.selects}}.want(t, tc.status)
		if repeated := got.header[selection.Header]; len(repeated) != 1 || repeated[0] != tc.selects {
			t.Errorf("%s: repeats %q", tc.path, repeated)
		}
		if tc.status == 403 && !strings.Contains(got.body, "the selected ") {
			t.Errorf("%s: %s", tc.path, got)
		}
	}
	if got := (request{as: jane, method: "GET", path: "/api/v1/pods"}).want(t, 200); got.header[selection.Header] != nil {
		t.Errorf("repeats %q, which was not sent", got.header[selection.Header])
	}
}

// TestMaster checks that a member of system:masters has only the rights of the role that it
// selects.
//
// Attack: selecting as a member of `system:masters`
// Answer: 403 for everything that the role does not allow
func TestMaster(t *testing.T) {
	policy(t, on, "mastered", "nobody")
	for _, tc := range []struct {
		method, path, body, selects string
		status                      int
	}{
		{"GET", "/api/v1/namespaces/mastered/pods", "", clusterRole("view"), 200},
		{"GET", "/api/v1/namespaces/mastered/secrets", "", clusterRole("view"), 403},
		{"POST", "/api/v1/namespaces/mastered/configmaps", `{"metadata":{"name":"c"}}`, clusterRole("view"), 403},
		{"POST", "/api/v1/namespaces/mastered/configmaps", `{"metadata":{"name":"c"}}`, clusterRole("edit"), 201},
		{"POST", rbacPath + "clusterroles",
			`{"metadata":{"name":"more"},"rules":[{"apiGroups":[""],"resources":["nodes"],"verbs":["*"]}]}`,
			clusterRole("admin"), 403},
		{"POST", rbacPath + "namespaces/mastered/roles",
			`{"metadata":{"name":"more"},"rules":[{"apiGroups":[""],"resources":["nodes"],"verbs":["*"]}]}`,
			clusterRole("admin"), 403},
		{"GET", "/metrics", "", clusterRole("view"), 403},
		{"GET", "/metrics", "", clusterRole("cluster-admin"), 200},
	} {
		r := request{as: master, method: tc.method, path: tc.path, body: tc.body, selects: []string{tc.selects}}
		r.want(t, tc.status)
		if tc.status == 403 {
			r.selects, r.path = nil, r.path+"?dryRun=All"
			if got := r.to(t, on); got.status >= 300 {
				t.Errorf("%s without a selection: %s", tc.path, got)
			}
		}
	}
}

// TestHeader checks that the server refuses a header that it can't apply, and does not repeat
// it.
//
// Attack: two headers, two values in one, unknown fields, more than 1 KiB
// Answer: 400
func TestHeader(t *testing.T) {
	view := clusterRole("view")
	for name, selects := range map[string][]string{
		"two":            {view, view},
		"empty":          {""},
		"not JSON":       {"view"},
		"unknown field":  {`{"authorityReference":{"kind":"ClusterRole","name":"view"},"as":"root"}`},
		"two in one":     {view + ", " + view},
		"more than 1KiB": {"{" + strings.Repeat(" ", 1025-len(view)) + view[1:]},
		"a delegation":   {`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`},
	} {
		for _, path := range []string{"/api/v1/namespaces/default/pods", "/version", "/healthz"} {
			got := request{as: master, method: "GET", path: path, selects: selects}.want(t, 400)
			if got.header[selection.Header] != nil || !strings.Contains(got.body, `"reason":"BadRequest"`) {
				t.Errorf("%s: %s, repeats %q", name, got, got.header[selection.Header])
			}
		}
	}
	request{as: master, method: "GET", path: "/version",
		selects: []string{"{" + strings.Repeat(" ", 1024-len(view)) + view[1:]}}.want(t, 200)
	request{method: "GET", path: "/version", anonymous: true, selects: []string{view}}.want(t, 200)
}

// TestAudit checks that the audit event names the selected role.
func TestAudit(t *testing.T) {
	policy(t, on, "audited", "nobody")
	request{as: master, method: "POST", path: "/api/v1/namespaces/audited/configmaps",
		body:    `{"metadata":{"name":"c"}}`,
		selects: []string{` {"kind":"SelectedAuthority", "authorityReference":{"name":"edit","kind":"ClusterRole"}}`}}.want(t, 201)
	request{as: master, method: "POST", path: "/api/v1/namespaces/audited/configmaps",
		body: `{"metadata":{"name":"d"}}`}.want(t, 201)
	want := map[string]string{"c": clusterRole("edit"), "d": ""}
	harness.Until(t, "both requests are in the audit log", func() bool {
		found := 0
		for _, event := range harness.Events(t, auditLog) {
			if event.ObjectRef == nil || event.ObjectRef.Namespace != "audited" || event.ObjectRef.Resource != "configmaps" {
				continue
			}
			found++
			if got := event.Annotations[audit.SelectedAnnotation]; got != want[event.ObjectRef.Name] {
				t.Fatalf("%s: %q", event.ObjectRef.Name, got)
			}
		}
		return found == 2
	})
}

// TestExec checks that exec, attach and portforward are authorized by the selected role.
func TestExec(t *testing.T) {
	policy(t, on, "exec", "jane", "edit", "view")
	jane := person("jane")
	for _, sub := range []string{"exec?command=a", "attach", "portforward"} {
		path := "/api/v1/namespaces/exec/pods/none/" + sub
		for _, method := range []string{"GET", "POST"} {
			request{as: jane, method: method, path: path, selects: []string{clusterRole("edit")}}.eventually(t, http.StatusNotFound)
			request{as: jane, method: method, path: path, selects: []string{clusterRole("view")}}.want(t, http.StatusForbidden)
		}
	}
}
