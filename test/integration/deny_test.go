// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/test/integration/cluster"
)

// opinions is an authorization webhook in front of RBAC. It keeps what it was
// asked of one user's deployments.
type opinions struct {
	mu    sync.Mutex
	asked []string
	deny  func(verb string) bool
	fail  func(verb string) bool
}

func (o *opinions) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Status = authorizationv1.SubjectAccessReviewStatus{}
	if a := review.Spec.ResourceAttributes; a != nil && a.Resource == "deployments" && strings.HasSuffix(review.Spec.User, ":supersafe") {
		o.mu.Lock()
		o.asked = append(o.asked, a.Verb)
		deny, fail := o.deny, o.fail
		o.mu.Unlock()
		if fail != nil && fail(a.Verb) {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		if deny != nil && deny(a.Verb) {
			review.Status.Denied = true
			review.Status.Reason = "the webhook says no"
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// set changes what the webhook says and forgets what it was asked.
func (o *opinions) set(deny, fail func(string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked, o.deny, o.fail = nil, deny, fail
}

func (o *opinions) verbs() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}

// chain writes a structured authorization configuration into dir: the webhook,
// then RBAC.
func chain(dir string, webhook *httptest.Server) (string, error) {
	kubeconfigFile, err := kubeconfigOf(dir, webhook)
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, "authorization.yaml")
	return config, os.WriteFile(config, []byte(`
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: opinions
  webhook:
    timeout: 10s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    cacheAuthorizedRequests: false
    cacheUnauthorizedRequests: false
    authorizedTTL: 1s
    unauthorizedTTL: 1s
    connectionInfo:
      type: KubeConfigFile
      kubeConfigFile: `+kubeconfigFile+`
- type: RBAC
  name: rbac
`), 0o600)
}

// TestDenyIsFinal holds that an explicit Deny of an authorization chain is not
// outflanked by the verb granular, that an authorizer's failure is never an
// allowance, and that verbs are asked from general to specific, each once.
func TestDenyIsFinal(t *testing.T) {
	o := &opinions{}
	webhook := httptest.NewTLSServer(o)
	defer webhook.Close()
	config, err := chain(t.TempDir(), webhook)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start("--authorization-config", config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()

	const user = "system:serviceaccount:default:supersafe"
	const path = "/apis/apps/v1/namespaces/default/deployments/web"
	denied := "cannot patch resource \\\"deployments\\\" in API group \\\"apps\\\" in the namespace \\\"default\\\""
	only := func(verb string) func(string) bool { return func(v string) bool { return v == verb } }
	asked := []string{"patch", "granular", "granular:metadata", "granular:labels", "granular:label(super.safe.com)", "get"}

	tests := []struct {
		name       string
		deny, fail func(string) bool
		status     int
		says       string
		asked      []string
	}{
		{name: "no opinion", status: http.StatusOK, asked: asked},
		{name: "deny of the ordinary verb", deny: only("patch"), status: http.StatusForbidden, says: denied + ": the webhook says no", asked: asked[:1]},
		{name: "deny of granular", deny: only("granular"), status: http.StatusForbidden, says: denied, asked: asked[:2]},
		{name: "deny of a general permission leaves the specific one", deny: only("granular:labels"), status: http.StatusOK, asked: asked},
		{name: "deny of the specific permission", deny: only(asked[4]), status: http.StatusForbidden, says: `cannot change .metadata.labels[super.safe.com/level]`, asked: asked[:5]},
		{name: "failure at the ordinary verb", fail: only("patch"), status: http.StatusInternalServerError, asked: asked[:1]},
		{name: "failure at a permission", fail: only("granular:metadata"), status: http.StatusInternalServerError, asked: append(slices.Clone(asked[:3]), "get")},
		{name: "failure at granular", fail: only("granular"), status: http.StatusInternalServerError, asked: asked[:2]},
	}
	for i, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o.set(tc.deny, tc.fail)
			value := "v" + string(rune('a'+i))
			status, answer, err := request(c, user, http.MethodPatch, path, contentTypes["merge"], `{"metadata":{"labels":{"super.safe.com/level":"`+value+`"}}}`)
			if err != nil {
				t.Fatal(err)
			}
			if status != tc.status || !strings.Contains(answer, tc.says) {
				t.Errorf("got %d %s\nwanted %d and %q", status, answer, tc.status, tc.says)
			}
			// A failing webhook is called again by the server.
			if got := slices.Compact(o.verbs()); !slices.Equal(got, tc.asked) {
				t.Errorf("asked %q, wanted %q", got, tc.asked)
			}
			o.set(nil, nil)
			_, now, err := request(c, user, http.MethodGet, path, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if stored := strings.Contains(now, `"super.safe.com/level":"`+value+`"`); stored != (tc.status == http.StatusOK) {
				t.Errorf("the label was stored: %t, the answer was %d", stored, status)
			}
		})
	}
}
