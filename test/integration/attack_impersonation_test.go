// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/harness"
)

// TestAttackImpersonation tries to gain rights by constrained impersonation that neither the
// impersonator nor the impersonated user has. The server asks whether the impersonator holds
// the verb of the request, such as "impersonate-on:user-info:patch", and never asks for
// granular verbs. It asks only the impersonated user for permissions.
//
// Attack: `impersonate-on:…` for another verb, for `granular` and for permissions; the caller's own permissions
// under impersonation
// Answer: 403
//
// Attack: another label than the granted one, as a node or service account by constrained impersonation
// Answer: 403
func TestAttackImpersonation(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	admin := harness.Administrator(t, on)
	const namespace = "impersonating"
	if _, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		harness.Create(t, admin, "/api/v1/namespaces/"+namespace+"/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":{"k":"v"}}`)
	}
	configmaps := func(verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}
	}
	as := func(resource, mode string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{resource},
			Verbs: []string{"impersonate:" + mode}}
	}
	worn := "system:serviceaccount:" + namespace + ":worn"
	for user, rules := range map[string][]rbacv1.PolicyRule{
		"wearer":          {configmaps("get", "granular", "granular:label(own.example.com)")},
		"wearer-of-all":   {configmaps("get", "granular", "granular:metadata")},
		"system:node:n-9": {configmaps("get", "granular", "granular:label(own.example.com)")},
		worn:              {configmaps("get", "granular", "granular:label(own.example.com)")},
	} {
		harness.Allow(t, admin, user, rules...)
	}
	const info = "impersonate-on:user-info:"
	for i, tc := range []struct {
		name  string
		rules []rbacv1.PolicyRule
		user  string
		// way is merge, json (a PUT) or apply. object is the name of the ConfigMap that is
		// written.
		way, object string
		label       string
		status      int
		says        string
	}{
		{"patch where patch is allowed", []rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "patch")},
			"wearer", "merge", "a", "own.example.com/x", 200, ""},
		{"patch where update is allowed",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "update")}, "wearer", "merge", "a",
			"own.example.com/x", 403, "cannot " + info + "patch"},
		{"update where update is allowed",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "update")}, "wearer", "json", "a",
			"own.example.com/x", 200, ""},
		{"update where patch is allowed", []rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "patch")},
			"wearer", "json", "a", "own.example.com/x", 403, "cannot " + info + "update"},
		{"patch where granular is allowed",
			[]rbacv1.PolicyRule{as("users", "user-info"),
				configmaps(info+"granular", info+"granular:metadata", info+"granular:label(own.example.com)")},
			"wearer", "merge", "a", "own.example.com/x", 403, "cannot " + info + "patch"},
		{"permissions of one's own in place of the right to impersonate",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps("get", "granular", "granular:metadata")},
			"wearer", "merge", "a", "own.example.com/x", 403, "cannot " + info + "patch"},
		{"granular on users in place of impersonate",
			[]rbacv1.PolicyRule{{APIGroups: []string{"authentication.k8s.io", ""}, Resources: []string{"users"}, Verbs: []string{"granular", "granular:metadata"}},
				configmaps(info + "patch")},
			"wearer", "merge", "a", "own.example.com/x", 403, "cannot impersonate"},
		{"permissions of one's own beside those of the user",
			[]rbacv1.PolicyRule{as("users", "user-info"),
				configmaps(info+"patch", "get", "patch", "granular", "granular:metadata")},
			"wearer", "merge", "a", "other.example.com/x", 403,
			`User \"wearer\" cannot change .metadata.labels[other.example.com/x]`},
		{"a user without permissions",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info+"patch", "granular", "granular:metadata")},
			"naked", "merge", "a", "own.example.com/x", 403, `User \"naked\" cannot patch resource`},
		{"creating by apply where the user may not",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info+"patch", info+"create")}, "wearer",
			"apply", "new", "own.example.com/x", 403, `needs the verb \"granular:metadata\"`},
		// As in upstream, an apply that creates needs create for the impersonated user only.
		{"creating by apply where the user may",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "patch")}, "wearer-of-all", "apply",
			"new", "own.example.com/x", 201, ""},
		{"creating by apply where create is allowed",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "create")}, "wearer-of-all", "apply",
			"newer", "own.example.com/x", 403, "cannot " + info + "patch"},
		{"as a node",
			[]rbacv1.PolicyRule{as("nodes", "arbitrary-node"), configmaps("impersonate-on:arbitrary-node:patch")},
			"system:node:n-9", "merge", "b", "own.example.com/x", 200, ""},
		{"as a node, another label",
			[]rbacv1.PolicyRule{as("nodes", "arbitrary-node"), configmaps("impersonate-on:arbitrary-node:patch")},
			"system:node:n-9", "merge", "b", "other.example.com/x", 403,
			"cannot change .metadata.labels[other.example.com/x]"},
		{"as a node, by what is for users",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "patch")}, "system:node:n-9", "merge",
			"b", "own.example.com/x", 403, "cannot impersonate"},
		{"as a service account",
			[]rbacv1.PolicyRule{as("serviceaccounts", "serviceaccount"),
				configmaps("impersonate-on:serviceaccount:patch")},
			worn, "merge", "b", "own.example.com/x", 200, ""},
		{"as a service account, another label",
			[]rbacv1.PolicyRule{as("serviceaccounts", "serviceaccount"),
				configmaps("impersonate-on:serviceaccount:patch")},
			worn, "merge", "b", "other.example.com/x", 403, "cannot change .metadata.labels[other.example.com/x]"},
		{"as a service account, by what is for users",
			[]rbacv1.PolicyRule{as("users", "user-info"), configmaps(info + "patch")}, worn, "merge", "b",
			"own.example.com/x", 403, "cannot impersonate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			account := fmt.Sprintf("caller-%d", i)
			client := accountClient(ctx, t, namespace, account, tc.user)
			harness.Allow(t, admin, "system:serviceaccount:"+namespace+":"+account, tc.rules...)
			path := "/api/v1/namespaces/" + namespace + "/configmaps/" + tc.object
			value := fmt.Sprintf("v%d", i)
			method, query := http.MethodPatch, ""
			body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{%q:%q}}}`, tc.object, tc.label, value)
			switch tc.way {
			case "apply":
				query = "?fieldManager=m"
			case "json":
				method = http.MethodPut
				now, err := admin.CoreV1().ConfigMaps(namespace).Get(ctx, tc.object, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				body = fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"resourceVersion":%q,"labels":{`, tc.object, now.ResourceVersion)
				delete(now.Labels, tc.label)
				for key, old := range now.Labels {
					body += fmt.Sprintf("%q:%q,", key, old)
				}
				body += fmt.Sprintf(`%q:%q}},"data":{"k":"v"}}`, tc.label, value)
			}
			got, err := client.Do(ctx, harness.Call{Method: method, Path: path + query, ContentType: harness.ContentTypes[tc.way], Body: body})
			if err != nil {
				t.Fatal(err)
			}
			if got.Code != tc.status || !strings.Contains(string(got.Body), tc.says) {
				t.Errorf("got %s\nwanted %d and %q", got, tc.status, tc.says)
			}
			now, err := admin.CoreV1().ConfigMaps(namespace).Get(ctx, tc.object, metav1.GetOptions{})
			if stored := err == nil && now.Labels[tc.label] == value; stored != (tc.status < 300) {
				t.Errorf("the label is stored: %t", stored)
			}
		})
	}
}

// accountClient returns a client of a service account that impersonates a user.
func accountClient(ctx context.Context, t *testing.T, namespace, name, user string) *harness.Client {
	t.Helper()
	admin := harness.Administrator(t, on)
	if _, err := admin.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(harness.Config(t, on, "admin"))
	config.BearerToken = token.Status.Token
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &harness.Client{URL: on.URL, HTTP: client}
}
