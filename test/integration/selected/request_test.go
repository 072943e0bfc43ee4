// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// request is one HTTP request to a server, with a token for the user as.
type request struct {
	as           authenticationv1.UserInfo
	method, path string
	body         string
	contentType  string
	// selects are the values of the header Authority-Selector.
	selects []string
	header  http.Header
	// With anonymous, the request has no token.
	anonymous bool
	cert      *tls.Certificate
}

type response struct {
	status int
	header http.Header
	body   string
}

func (r response) String() string { return fmt.Sprintf("%d %.600s", r.status, r.body) }

func (r request) to(t *testing.T, c *cluster.Cluster) response {
	t.Helper()
	config := harness.Config(t, c, "admin")
	config = rest.AnonymousClientConfig(config)
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	if r.cert != nil {
		tlsConfig.Certificates = []tls.Certificate{*r.cert}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), r.method, c.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if !r.anonymous {
		req.Header.Set("Authorization", "Bearer "+token(r.as))
	}
	req.Header.Set("Content-Type", "application/json")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	req.Header[selection.Header] = r.selects
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if watches := strings.Contains(r.path, "watch=1"); !watches || resp.StatusCode != http.StatusOK {
		if _, err := io.Copy(&body, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	return response{resp.StatusCode, resp.Header, body.String()}
}

// want sends a request to the shared server and checks its status.
func (r request) want(t *testing.T, status int) response {
	t.Helper()
	got := r.to(t, on)
	if got.status != status {
		t.Errorf("%s %s as %s selecting %q: wanted %d, got %s", r.method, r.path, r.as.Username, r.selects, status, got)
	}
	return got
}

// eventually repeats a request until it gets the status, because RBAC learns of new bindings
// through a watch.
func (r request) eventually(t *testing.T, status int) response {
	t.Helper()
	return r.eventuallyFrom(t, on, status)
}

func (r request) eventuallyFrom(t *testing.T, c *cluster.Cluster, status int) response {
	t.Helper()
	var got response
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		got = r.to(t, c)
		return got.status == status, nil
	})
	if err != nil {
		t.Fatalf("%s %s selecting %q: wanted %d, got %s", r.method, r.path, r.selects, status, got)
	}
	return got
}

func clusterRole(name string) string { return text(selection.ClusterRole(name)) }

func role(namespace, name string) string { return text(selection.Role(namespace, name)) }

func text(s *selection.SelectedAuthority) string {
	text, err := s.Text()
	if err != nil {
		panic(err)
	}
	return text
}

// apply creates objects as a member of system:masters. The arguments are pairs of a path and an
// object in JSON.
func apply(t *testing.T, c *cluster.Cluster, objects ...string) {
	t.Helper()
	for i := 0; i < len(objects); i += 2 {
		if got := (request{as: master, method: http.MethodPost, path: objects[i], body: objects[i+1]}).to(t, c); got.status != http.StatusCreated {
			t.Fatalf("%s: %s", objects[i], got)
		}
	}
}

const rbacPath = "/apis/rbac.authorization.k8s.io/v1/"

// policy creates a namespace and in it a RoleBinding of a user to each of the ClusterRoles.
func policy(t *testing.T, c *cluster.Cluster, namespace, user string, roles ...string) {
	t.Helper()
	apply(t, c, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, namespace))
	for _, role := range roles {
		bind(t, c, namespace, user, "ClusterRole", role)
	}
}

// bind binds a user to a role in a namespace, or in the whole cluster if namespace is empty.
func bind(t *testing.T, c *cluster.Cluster, namespace, user, kind, role string) {
	t.Helper()
	path, what := rbacPath+"clusterrolebindings", "ClusterRoleBinding"
	if namespace != "" {
		path, what = rbacPath+"namespaces/"+namespace+"/rolebindings", "RoleBinding"
	}
	apply(t, c, path, fmt.Sprintf(`{"kind":%q,"apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"generateName":"b-"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":%q}]}`, what, kind, role, user))
}
