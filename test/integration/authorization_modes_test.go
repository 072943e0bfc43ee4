// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// attempt is a request that sets a label on an object, such as the demo deployment or a node.
type attempt struct {
	name string
	// config names the user whose credentials are sent. user is the user that is impersonated,
	// if any.
	config string
	user   rest.ImpersonationConfig
	path   string
	label  string
	status int
	says   string
}

const demo = "/apis/apps/v1/namespaces/default/deployments/web"

// try sets the label and checks that the label is stored if, and only if, the expected status
// is 200.
func (a attempt) try(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	value := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, "v"+strings.ToLower(a.name)+"v")
	value = value[:min(len(value), 60)] + "v"
	status, answer, err := harness.RequestBy(c, a.config, a.user, http.MethodPatch, a.path, harness.ContentTypes["merge"],
		fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, a.label, value))
	if err != nil {
		t.Fatal(err)
	}
	if status != a.status || !strings.Contains(answer, a.says) {
		t.Errorf("got %d %s\nwanted %d and %q", status, answer, a.status, a.says)
	}
	_, now, err := harness.Request(c, "", http.MethodGet, a.path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if stored := strings.Contains(now, fmt.Sprintf("%q:%q", a.label, value)); stored != (a.status == http.StatusOK) {
		t.Errorf("the label was stored: %t, the answer was %d", stored, status)
	}
}

// verdicts returns an authorization webhook that allows one user the given verbs and has no
// opinion about other users.
func verdicts(user string, verbs ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		harness.Review(w, req, func(review *authorizationv1.SubjectAccessReview) error {
			a := review.Spec.ResourceAttributes
			review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: a != nil && review.Spec.User == user && slices.Contains(verbs, a.Verb)}
			return nil
		})
	})
}

// abacPolicies lets the user abac-writer write and the user abac-reader read.
const abacPolicies = `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-writer","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-reader","namespace":"*","resource":"*","apiGroup":"*","readonly":true}}
`

// TestModes checks that granular authorization works behind every authorization mode. Most
// users have their rights from one of the modes alone.
func TestModes(t *testing.T) {
	webhook := harness.ServeWebhook(t, verdicts("hooked", "granular", "granular:label(own.example.com)"))
	abac := filepath.Join(t.TempDir(), "abac.jsonl")
	if err := os.WriteFile(abac, []byte(abacPolicies), 0o600); err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, "--", "--authorization-mode=AlwaysDeny,Node,ABAC,Webhook,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--authorization-policy-file="+abac, "--authorization-webhook-config-file="+harness.WebhookKubeconfig(t, webhook), "--authorization-webhook-version=v1")
	client := harness.Administrator(t, c)
	for _, name := range []string{"n1", "n2"} {
		harness.Create(t, client, "/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"`+name+`"}}`)
	}
	own := []string{"granular", "granular:label(own.example.com)"}
	for _, user := range []string{"rbac", "abac-reader", "system:node:n1"} {
		harness.Allow(t, client, user, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: own})
	}

	node := harness.Impersonating("system:node:n1", "system:nodes", "system:authenticated")
	needs := `needs one of the verbs \"granular:label(other.example.com)\", \"granular:metadata\"`
	for _, a := range []attempt{
		{name: "rbac", user: harness.Impersonating("rbac"), path: demo, label: "own.example.com/a", status: 200},
		{name: "rbac refuses", user: harness.Impersonating("rbac"), path: demo, label: "other.example.com/a",
			status: 403, says: needs},
		{name: "webhook", user: harness.Impersonating("hooked"), path: demo, label: "own.example.com/a", status: 200},
		{name: "webhook refuses", user: harness.Impersonating("hooked"), path: demo, label: "other.example.com/a",
			status: 403, says: needs},
		{name: "webhook knows nobody else", user: harness.Impersonating("unhooked"), path: demo,
			label: "own.example.com/a", status: 403, says: "cannot patch resource"},
		{name: "abac writer holds every verb", user: harness.Impersonating("abac-writer"), path: demo,
			label: "other.example.com/a", status: 200},
		{name: "abac reader has own by rbac", user: harness.Impersonating("abac-reader"), path: demo,
			label: "own.example.com/a", status: 200, says: `"spec"`},
		{name: "abac reader refused", user: harness.Impersonating("abac-reader"), path: demo,
			label: "other.example.com/a", status: 403, says: needs},
		{name: "abac reading is no granular", user: harness.Impersonating("abac-reader"), path: "/api/v1/nodes/n2",
			label: "own.example.com/a", status: 403, says: "cannot patch resource"},
		{name: "always deny leaves it to others", user: harness.Impersonating("nobody"), path: demo,
			label: "own.example.com/a", status: 403, says: "cannot patch resource"},
		{name: "node writes its node", user: node, path: "/api/v1/nodes/n1",
			label: "node.kubernetes.io/instance-type", status: 200},
		{name: "node is restricted there", user: node, path: "/api/v1/nodes/n1",
			label: "node-restriction.kubernetes.io/a", status: 403, says: "is not allowed to modify labels"},
		{name: "node writes no other", user: node, path: "/api/v1/nodes/n2",
			label: "node.kubernetes.io/instance-type", status: 403, says: "is not allowed to modify node"},
		{name: "node with a granular role", user: node, path: demo, label: "own.example.com/a", status: 200},
		{name: "node with a granular role refused", user: node, path: demo, label: "other.example.com/a",
			status: 403, says: needs},
	} {
		a.config = "admin"
		t.Run(a.name, func(t *testing.T) { a.try(t, c) })
	}
}

// TestAlwaysAllow checks that the mode AlwaysAllow allows granular permissions as well, and so
// refuses nothing.
func TestAlwaysAllow(t *testing.T) {
	c := harness.Start(t, "--", "--authorization-mode=AlwaysAllow")
	attempt{name: "anybody", config: "admin", user: harness.Impersonating("anybody"), path: demo,
		label: "any.example.com/a", status: 200, says: `"spec"`}.try(t, c)
}

// TestImpersonation checks that the server judges the impersonated user and not the
// impersonator, for ordinary and for constrained impersonation.
//
// Attack: impersonating a user, to add its permissions to the caller's own
// Answer: 403, only the user's count
func TestImpersonation(t *testing.T) {
	client := harness.Administrator(t, on)
	own := []string{"get", "granular", "granular:label(own.example.com)"}
	harness.Allow(t, client, "impersonated", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: own})
	// The viewer may impersonate two users without constraints, and holds a permission for a
	// label. The editor may impersonate one user, and only to patch deployments (constrained
	// impersonation).
	harness.Allow(t, client, "viewer",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"},
			ResourceNames: []string{"impersonated", "powerless"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"},
			Verbs: []string{"granular", "granular:label(viewer.example.com)"}})
	harness.Allow(t, client, "editor",
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"users"},
			Verbs: []string{"impersonate:user-info"}, ResourceNames: []string{"impersonated"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"},
			Verbs: []string{"impersonate-on:user-info:patch"}})
	for _, a := range []attempt{
		{name: "own permission", config: "viewer", path: demo, label: "viewer.example.com/a", status: 200},
		{name: "as another", config: "viewer", user: harness.Impersonating("impersonated"), path: demo,
			label: "own.example.com/a", status: 200},
		{name: "as another without the own", config: "viewer", user: harness.Impersonating("impersonated"),
			path: demo, label: "viewer.example.com/a", status: 403, says: `User \"impersonated\" cannot change`},
		{name: "as a powerless one", config: "viewer", user: harness.Impersonating("powerless"), path: demo,
			label: "viewer.example.com/a", status: 403, says: `User \"powerless\" cannot patch resource`},
		{name: "as one it may not be", config: "viewer", user: harness.Impersonating("admin"), path: demo,
			label: "viewer.example.com/a", status: 403, says: "cannot impersonate"},
		{name: "constrained", config: "editor", user: harness.Impersonating("impersonated"), path: demo,
			label: "own.example.com/a", status: 200},
		{name: "constrained and refused", config: "editor", user: harness.Impersonating("impersonated"), path: demo,
			label: "editor.example.com/a", status: 403, says: `User \"impersonated\" cannot change`},
		{name: "constrained as another", config: "editor", user: harness.Impersonating("powerless"), path: demo,
			label: "own.example.com/a", status: 403, says: "cannot impersonate"},
		{name: "constrained elsewhere", config: "editor", user: harness.Impersonating("impersonated"),
			path: "/api/v1/namespaces/default", label: "own.example.com/a", status: 403, says: "cannot impersonate"},
	} {
		t.Run(a.name, func(t *testing.T) { a.try(t, on) })
	}
}
