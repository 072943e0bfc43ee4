// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// on is the server of all tests. configuration is the file with its authorization configuration, and
// auditLog the file to which it logs changes.
var (
	on                      *cluster.Cluster
	configuration, auditLog string
)

// nodeAndRBAC is the chain between two tests. A reload may move these two authorizers, but
// can't add or remove them.
var nodeAndRBAC = []string{node, rbac}

const (
	node = "- {type: Node, name: node}\n"
	rbac = "- {type: RBAC, name: rbac}\n"
)

func TestMain(m *testing.M) {
	harness.Main(m, func(dir string) (stop func() error, err error) {
		configuration = filepath.Join(dir, "authorization.yaml")
		if err := os.WriteFile(configuration, []byte(chained(nodeAndRBAC...)), 0o600); err != nil {
			return nil, err
		}
		flags, log, err := harness.LogChanges(dir)
		if err != nil {
			return nil, err
		}
		auditLog = log
		on, err = cluster.Start(append([]string{"--authorization-config", configuration,
			"--", "--authorization-config-watch-connections"}, flags...)...)
		return on.Stop, err
	})
}

// chained returns a configuration with these authorizers.
func chained(authorizers ...string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n" + strings.Join(authorizers, "")
}

// replace replaces a file by a rename, so that no reader sees half of it.
func replace(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// use loads a chain into the server until the test ends.
func use(t *testing.T, authorizers ...string) {
	t.Helper()
	load(t, chained(authorizers...), "success")
	t.Cleanup(func() { load(t, chained(nodeAndRBAC...), "success") })
}

// load writes a configuration and waits until the server has tried to load it. It checks that
// the result is status, success or failure.
func load(t *testing.T, config, status string) {
	t.Helper()
	before := reloads(t)
	replace(t, configuration, config)
	var after map[string]float64
	harness.Until(t, "a reload", func() bool {
		after = reloads(t)
		return after["success"]+after["failure"] > before["success"]+before["failure"]
	})
	if after[status] == before[status] {
		t.Fatalf("reloads were %v, then %v; wanted a %s of\n%s", before, after, status, config)
	}
}

// reloads returns the number of configuration reloads by their status.
func reloads(t *testing.T) map[string]float64 {
	t.Helper()
	now, out := scrape(t, on), map[string]float64{}
	for _, status := range []string{"success", "failure"} {
		out[status] = now[`apiserver_authorization_config_controller_automatic_reloads_total{status="`+status+`"}`]
	}
	return out
}

// send makes one request as an impersonated user and returns the answer.
func send(t *testing.T, user, method, path, contentType, body string) harness.Answer {
	t.Helper()
	return sendTo(t, on, user, method, path, contentType, body)
}

func sendTo(t *testing.T, c *cluster.Cluster, user, method, path, contentType, body string) harness.Answer {
	t.Helper()
	code, text, err := harness.Request(c, user, method, path, harness.ContentTypes[contentType], body)
	if err != nil {
		t.Fatal(err)
	}
	return harness.Answer{Code: code, Body: []byte(text)}
}

// must makes one request as the administrator, which must succeed.
func must(t *testing.T, method, path, contentType, body string) harness.Answer {
	t.Helper()
	a := send(t, harness.Admin, method, path, contentType, body)
	if a.Code >= 300 {
		t.Fatalf("%s %s: %s", method, path, a)
	}
	return a
}

// expect checks the status code and a part of the message of an answer.
func expect(t *testing.T, a harness.Answer, code int, says string) {
	t.Helper()
	if a.Code != code || !strings.Contains(a.Message(), says) {
		t.Errorf("got %s\nwanted %d and %q", a, code, says)
	}
}

// allow grants a user verbs on resources of an API group everywhere, by RBAC.
func allow(t *testing.T, user, group string, resources []string, verbs ...string) {
	t.Helper()
	harness.Allow(t, harness.Administrator(t, on), user, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs})
}

// own are the verbs of a caller that may get objects and set the labels of own.example.com.
var own = []string{"granular", "granular:label(own.example.com)", "get"}

// label is a merge patch that sets such a label to a value.
func label(value any) string {
	return fmt.Sprintf(`{"metadata":{"labels":{"own.example.com/l":"%v"}}}`, value)
}

// made creates a ConfigMap with a unique name and returns its path.
func made(t *testing.T, namespace string) string {
	t.Helper()
	name := fmt.Sprintf("c-%d", harness.Unique())
	path := "/api/v1/namespaces/" + namespace + "/configmaps"
	must(t, http.MethodPost, path, "json", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"a":"a"}}`, name))
	return path + "/" + name
}

// namespace creates a namespace with a unique name and returns the name.
func namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("n-%d", harness.Unique())
	must(t, http.MethodPost, "/api/v1/namespaces", "json", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`)
	return name
}
