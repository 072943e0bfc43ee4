// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// server is the shared server, with the gates GranularAuthorization and ProtectedAttributes on.
var server *cluster.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(string) (stop func() error, err error) {
		server, err = cluster.Start("--demo=false", "--feature-gates", "ProtectedAttributes=true")
		return server.Stop, err
	})
}

// send sends a request as a user in groups, or as the administrator. Without a content type, the body is JSON.
func send(t testing.TB, user, method, path, contentType, body string, groups ...string) harness.Answer {
	t.Helper()
	got, err := harness.Connect(t, server, "admin").Do(t.Context(), harness.Call{
		As: harness.Impersonating(user, groups...), Method: method, Path: path,
		ContentType: harness.ContentTypes[cmp.Or(contentType, "json")], Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// must sends a request as the administrator, which must succeed.
func must(t testing.TB, method, path, contentType, body string) string {
	t.Helper()
	got := send(t, harness.Admin, method, path, contentType, body)
	if got.Code >= 300 {
		t.Fatalf("%s %s: %s", method, path, got)
	}
	return string(got.Body)
}

// edited returns the stored object after an edit, as the body of a PUT.
func edited(t testing.TB, path string, edit func(object map[string]any)) string {
	t.Helper()
	object := map[string]any{}
	if err := json.Unmarshal([]byte(must(t, http.MethodGet, path, "", "")), &object); err != nil {
		t.Fatal(err)
	}
	delete(object["metadata"].(map[string]any), "resourceVersion")
	edit(object)
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// namespace creates a namespace with the service account default, because no controller runs
// here that would create it.
func namespace(t testing.TB, name string) string {
	t.Helper()
	must(t, http.MethodPost, "/api/v1/namespaces", "", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`)
	must(t, http.MethodPost, "/api/v1/namespaces/"+name+"/serviceaccounts", "", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
	return "/api/v1/namespaces/" + name
}

const (
	rbacPath  = "/apis/rbac.authorization.k8s.io/v1"
	authority = "/apis/authority.kube-granular.dev/v1alpha1"
)

// grant creates a ClusterRole with rules in JSON, and binds users to it in the whole cluster.
func grant(t testing.TB, role, rules string, users ...string) {
	t.Helper()
	must(t, http.MethodPost, rbacPath+"/clusterroles", "", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"`+role+`"},"rules":`+rules+`}`)
	bind(t, role, users...)
}

// bind binds users to a ClusterRole in the whole cluster.
func bind(t testing.TB, role string, users ...string) {
	t.Helper()
	var subjects []string
	for _, user := range users {
		subjects = append(subjects, `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"`+user+`"}`)
	}
	must(t, http.MethodPost, rbacPath+"/clusterrolebindings", "", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"`+role+"-"+strings.Join(users, "-")+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+role+`"},"subjects":[`+strings.Join(subjects, ",")+`]}`)
}

// protect creates a ClusterProtectedAttribute that exists until the test ends, and returns its
// path.
func protect(t testing.TB, name, spec string) string {
	t.Helper()
	must(t, http.MethodPost, authority+"/clusterprotectedattributes", "", `{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"ClusterProtectedAttribute","metadata":{"name":"`+name+`"},"spec":`+spec+`}`)
	path := authority + "/clusterprotectedattributes/" + name
	t.Cleanup(func() {
		if _, _, err := harness.Request(server, harness.Admin, http.MethodDelete, path, "", ""); err != nil {
			t.Error(err)
		}
	})
	return path
}

// allowed waits until an access review reports that the user is allowed.
func allowed(t testing.TB, user, verb, group, resource string) {
	t.Helper()
	harness.Until(t, user+" may "+verb+" "+resource, func() bool {
		body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"` + user + `","resourceAttributes":{"verb":"` + verb + `","group":"` + group + `","resource":"` + resource + `"}}}`
		return strings.Contains(must(t, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", body), `"allowed":true`)
	})
}
