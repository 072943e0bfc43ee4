// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

// server is the shared server, with the gates GranularAuthorization and ProtectedAttributes on.
var server *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if server, err = cluster.Start("--demo=false", "--feature-gates", "ProtectedAttributes=true"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// admin is the user name for requests of the administrator, a member of system:masters.
const admin = ""

// answer is the response of the server.
type answer struct {
	status   int
	body     string
	warnings []string
}

var (
	clientsMu sync.Mutex
	clients   = map[string]*http.Client{}
)

// clientOf returns a client that impersonates a user, or the administrator's own client.
func clientOf(t testing.TB, user string) *http.Client {
	t.Helper()
	clientsMu.Lock()
	defer clientsMu.Unlock()
	if c := clients[user]; c != nil {
		return c
	}
	config, err := server.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.WarningHandler = rest.NoWarnings{}
	config.QPS = -1
	if user != admin {
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	clients[user] = c
	return c
}

// types maps short names to content types.
var types = map[string]string{
	"json": "application/json-patch+json", "merge": "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml",
	"": "application/json",
}

func send(t testing.TB, user, method, path, contentType, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", types[contentType])
	resp, err := clientOf(t, user).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(data), resp.Header.Values("Warning")}
}

// must sends a request as the administrator, which must succeed.
func must(t testing.TB, method, path, contentType, body string) string {
	t.Helper()
	got := send(t, admin, method, path, contentType, body)
	if got.status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	return got.body
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

// put sets the value at a path of an object and creates missing parent fields.
func put(object map[string]any, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		below, ok := object[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[name] = below
		}
		object = below
	}
	object[path[len(path)-1]] = value
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
		config, err := server.Config("admin")
		if err != nil {
			t.Error(err)
			return
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Error(err)
			return
		}
		req, _ := http.NewRequest(http.MethodDelete, server.URL+path, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	})
	return path
}

// until waits for a condition and fails the test if it does not become true.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// allowed waits until an access review reports that the user is allowed.
func allowed(t testing.TB, user, verb, group, resource string) {
	t.Helper()
	until(t, user+" may "+verb+" "+resource, func() bool {
		body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"` + user + `","resourceAttributes":{"verb":"` + verb + `","group":"` + group + `","resource":"` + resource + `"}}}`
		return strings.Contains(must(t, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", body), `"allowed":true`)
	})
}
