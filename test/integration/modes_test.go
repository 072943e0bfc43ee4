// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/test/integration/cluster"
)

// attempt is a label that a caller sets on an object of the demo, or on a node.
type attempt struct {
	name string
	// config is whose credentials are used, user whom they impersonate.
	config string
	user   rest.ImpersonationConfig
	path   string
	label  string
	status int
	says   string
}

const demo = "/apis/apps/v1/namespaces/default/deployments/web"

func impersonating(user string, groups ...string) rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: user, Groups: groups}
}

// try sets the label and holds that it is there if, and only if, the answer is 200.
func (a attempt) try(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	value := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, "v"+strings.ToLower(a.name)+"v")
	value = value[:min(len(value), 60)] + "v"
	config, err := c.Config(a.config)
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = a.user
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, c.URL+a.path,
		strings.NewReader(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, a.label, value)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentTypes["merge"])
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != a.status || !strings.Contains(string(answer), a.says) {
		t.Errorf("got %d %s\nwanted %d and %q", resp.StatusCode, answer, a.status, a.says)
	}
	_, now, err := request(c, "", http.MethodGet, a.path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if stored := strings.Contains(now, fmt.Sprintf("%q:%q", a.label, value)); stored != (a.status == http.StatusOK) {
		t.Errorf("the label was stored: %t, the answer was %d", stored, resp.StatusCode)
	}
}

// verdicts is an authorization webhook that allows one user some verbs and has no
// opinion about anybody else.
func verdicts(user string, verbs ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := review.Spec.ResourceAttributes
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: a != nil && review.Spec.User == user && slices.Contains(verbs, a.Verb)}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// webhookKubeconfig writes the file by which the server finds a webhook.
func webhookKubeconfig(t *testing.T, webhook *httptest.Server) string {
	t.Helper()
	file, err := kubeconfigOf(t.TempDir(), webhook)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func kubeconfigOf(dir string, webhook *httptest.Server) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{
		Server:                   webhook.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
	}
	config.AuthInfos["server"] = &clientcmdapi.AuthInfo{}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook", AuthInfo: "server"}
	config.CurrentContext = "webhook"
	file := filepath.Join(dir, "webhook.kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// abacPolicies lets one user write and one read.
const abacPolicies = `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-writer","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"abac-reader","namespace":"*","resource":"*","apiGroup":"*","readonly":true}}
`

// TestModes holds that granular authorization is the same behind every authorizer.
// Each user gets what it holds from one of the modes alone.
func TestModes(t *testing.T) {
	webhook := httptest.NewTLSServer(verdicts("hooked", "granular", "granular:label(own.example.com)"))
	defer webhook.Close()
	abac := filepath.Join(t.TempDir(), "abac.jsonl")
	if err := os.WriteFile(abac, []byte(abacPolicies), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start("--", "--authorization-mode=AlwaysDeny,Node,ABAC,Webhook,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--authorization-policy-file="+abac, "--authorization-webhook-config-file="+webhookKubeconfig(t, webhook), "--authorization-webhook-version=v1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	client := administrator(t, c)
	for _, name := range []string{"n1", "n2"} {
		create(t, client, "/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"`+name+`"}}`)
	}
	own := []string{"granular", "granular:label(own.example.com)"}
	for _, user := range []string{"rbac", "abac-reader", "system:node:n1"} {
		allow(t, client, user, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: own})
	}

	node := impersonating("system:node:n1", "system:nodes", "system:authenticated")
	needs := `needs one of the verbs \"granular:metadata\", \"granular:label(other.example.com)\"`
	for _, a := range []attempt{
		{name: "rbac", user: impersonating("rbac"), path: demo, label: "own.example.com/a", status: 200},
		{name: "rbac refuses", user: impersonating("rbac"), path: demo, label: "other.example.com/a", status: 403, says: needs},
		{name: "webhook", user: impersonating("hooked"), path: demo, label: "own.example.com/a", status: 200},
		{name: "webhook refuses", user: impersonating("hooked"), path: demo, label: "other.example.com/a", status: 403, says: needs},
		{name: "webhook knows nobody else", user: impersonating("unhooked"), path: demo, label: "own.example.com/a", status: 403, says: "cannot patch resource"},
		{name: "abac writer holds every verb", user: impersonating("abac-writer"), path: demo, label: "other.example.com/a", status: 200},
		{name: "abac reader has own by rbac", user: impersonating("abac-reader"), path: demo, label: "own.example.com/a", status: 200, says: `"spec"`},
		{name: "abac reader refused", user: impersonating("abac-reader"), path: demo, label: "other.example.com/a", status: 403, says: needs},
		{name: "abac reading is no granular", user: impersonating("abac-reader"), path: "/api/v1/nodes/n2", label: "own.example.com/a", status: 403, says: "cannot patch resource"},
		{name: "always deny leaves it to others", user: impersonating("nobody"), path: demo, label: "own.example.com/a", status: 403, says: "cannot patch resource"},
		{name: "node writes its node", user: node, path: "/api/v1/nodes/n1", label: "node.kubernetes.io/instance-type", status: 200},
		{name: "node is restricted there", user: node, path: "/api/v1/nodes/n1", label: "node-restriction.kubernetes.io/a", status: 403, says: "is not allowed to modify labels"},
		{name: "node writes no other", user: node, path: "/api/v1/nodes/n2", label: "node.kubernetes.io/instance-type", status: 403, says: "is not allowed to modify node"},
		{name: "node with a granular role", user: node, path: demo, label: "own.example.com/a", status: 200},
		{name: "node with a granular role refused", user: node, path: demo, label: "other.example.com/a", status: 403, says: needs},
	} {
		a.config = "admin"
		t.Run(a.name, func(t *testing.T) { a.try(t, c) })
	}
}

// TestAlwaysAllow holds that where everything is allowed nothing is refused.
func TestAlwaysAllow(t *testing.T) {
	c, err := cluster.Start("--", "--authorization-mode=AlwaysAllow")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	attempt{name: "anybody", config: "admin", user: impersonating("anybody"), path: demo, label: "any.example.com/a", status: 200, says: `"spec"`}.try(t, c)
}

// TestImpersonation holds that whom a caller impersonates is judged, and not the
// caller, with all three ways to impersonate.
//
// Attack: impersonating a user, to add its permissions to one's own
// Answer: 403, only the user's count
func TestImpersonation(t *testing.T) {
	client := administrator(t, on)
	own := []string{"get", "granular", "granular:label(own.example.com)"}
	allow(t, client, "impersonated", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: own})
	// The viewer may impersonate two users as it likes, and has a permission of its
	// own; the editor only to patch deployments, by constrained impersonation.
	allow(t, client, "viewer",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}, ResourceNames: []string{"impersonated", "powerless"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"granular", "granular:label(viewer.example.com)"}})
	allow(t, client, "editor",
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"users"}, Verbs: []string{"impersonate:user-info"}, ResourceNames: []string{"impersonated"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"impersonate-on:user-info:patch"}})
	for _, a := range []attempt{
		{name: "own permission", config: "viewer", path: demo, label: "viewer.example.com/a", status: 200},
		{name: "as another", config: "viewer", user: impersonating("impersonated"), path: demo, label: "own.example.com/a", status: 200},
		{name: "as another without the own", config: "viewer", user: impersonating("impersonated"), path: demo, label: "viewer.example.com/a", status: 403, says: `User \"impersonated\" cannot change`},
		{name: "as a powerless one", config: "viewer", user: impersonating("powerless"), path: demo, label: "viewer.example.com/a", status: 403, says: `User \"powerless\" cannot patch resource`},
		{name: "as one it may not be", config: "viewer", user: impersonating("admin"), path: demo, label: "viewer.example.com/a", status: 403, says: "cannot impersonate"},
		{name: "constrained", config: "editor", user: impersonating("impersonated"), path: demo, label: "own.example.com/a", status: 200},
		{name: "constrained and refused", config: "editor", user: impersonating("impersonated"), path: demo, label: "editor.example.com/a", status: 403, says: `User \"impersonated\" cannot change`},
		{name: "constrained as another", config: "editor", user: impersonating("powerless"), path: demo, label: "own.example.com/a", status: 403, says: "cannot impersonate"},
		{name: "constrained elsewhere", config: "editor", user: impersonating("impersonated"), path: "/api/v1/namespaces/default", label: "own.example.com/a", status: 403, says: "cannot impersonate"},
	} {
		t.Run(a.name, func(t *testing.T) { a.try(t, on) })
	}
}

// allow gives a user rules everywhere, and waits for them.
func allow(t *testing.T, client kubernetes.Interface, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	if err := bind(t.Context(), client, "", user, rules); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			resource := rule.Resources[0] + "." + rule.APIGroups[0]
			if len(rule.ResourceNames) > 0 {
				continue // the answer depends on the name; another rule is waited for
			}
			if err := known(ctx, client, "", user, verb, resource); err != nil {
				t.Fatalf("%s of %s never reached %s: %v", verb, resource, user, err)
			}
		}
	}
}

func administrator(t *testing.T, c *cluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func create(t *testing.T, client *kubernetes.Clientset, path, body string) {
	t.Helper()
	err := client.RESTClient().Post().AbsPath(path).Body([]byte(body)).SetHeader("Content-Type", contentTypes["json"]).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}
