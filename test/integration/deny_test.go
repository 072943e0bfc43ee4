// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/test/integration/harness"
)

// opinions is an authorization webhook in front of RBAC. It records the verbs that it is asked
// about for the service account supersafe on deployments.
type opinions struct {
	mu    sync.Mutex
	asked []string
	deny  func(verb string) bool
	fail  func(verb string) bool
	// failsWith is the status code of its failures. The default is 500, after which the server
	// retries for seconds.
	failsWith int
}

func (o *opinions) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	harness.Review(w, req, func(review *authorizationv1.SubjectAccessReview) error {
		review.Status = authorizationv1.SubjectAccessReviewStatus{}
		a := review.Spec.ResourceAttributes
		if a == nil || a.Resource != "deployments" || !strings.HasSuffix(review.Spec.User, ":supersafe") {
			return nil
		}
		o.mu.Lock()
		o.asked = append(o.asked, a.Verb)
		deny, fail := o.deny, o.fail
		o.mu.Unlock()
		if fail != nil && fail(a.Verb) {
			return harness.Failure{Code: cmp.Or(o.failsWith, http.StatusInternalServerError), Text: "out of order"}
		}
		if deny != nil && deny(a.Verb) {
			review.Status.Denied = true
			review.Status.Reason = "the webhook says no"
		}
		return nil
	})
}

// set replaces the functions that decide whether the webhook denies or fails, and forgets the
// recorded verbs.
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

// TestDenyIsFinal checks that the verb granular does not override an explicit Deny of the
// authorization chain, and that a failing authorizer allows nothing. The server must ask for
// general verbs before specific ones, and for each verb once.
func TestDenyIsFinal(t *testing.T) {
	o := &opinions{}
	webhook := harness.ServeWebhook(t, o)
	config, err := harness.WriteAuthorizationConfig(t.TempDir(), webhook)
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, "--authorization-config", config)

	const user = "system:serviceaccount:default:supersafe"
	const path = "/apis/apps/v1/namespaces/default/deployments/web"
	denied := "cannot patch resource \\\"deployments\\\" in API group \\\"apps\\\" in the namespace \\\"default\\\""
	only := func(verb string) func(string) bool { return func(v string) bool { return v == verb } }
	asked := []string{"patch", "granular", "granular:metadata", "granular:labels", "granular:label(super.safe.com)",
		"get"}
	// The verb of the key is asked for if no other one is held.
	const key = "granular:label(super.safe.com/level)"

	tests := []struct {
		name       string
		deny, fail func(string) bool
		status     int
		says       string
		asked      []string
	}{
		{name: "no opinion", status: http.StatusOK, asked: asked},
		{name: "deny of the ordinary verb", deny: only("patch"), status: http.StatusForbidden,
			says: denied + ": the webhook says no", asked: asked[:1]},
		{name: "deny of granular", deny: only("granular"), status: http.StatusForbidden, says: denied,
			asked: asked[:2]},
		{name: "deny of a general permission leaves the specific one", deny: only("granular:labels"),
			status: http.StatusOK, asked: asked},
		{name: "deny of the specific permission", deny: only(asked[4]), status: http.StatusForbidden,
			says: `cannot change .metadata.labels[super.safe.com/level]`, asked: append(asked[:5:5], key)},
		{name: "failure at the ordinary verb", fail: only("patch"), status: http.StatusInternalServerError,
			asked: asked[:1]},
		{name: "failure at a general permission leaves the specific one", fail: only("granular:metadata"),
			status: http.StatusOK, asked: asked},
		{name: "failure at the specific permission", fail: only(asked[4]), status: http.StatusInternalServerError,
			asked: append(asked[:5:5], key, "get")},
		{name: "failure at granular", fail: only("granular"), status: http.StatusInternalServerError, asked: asked[:2]},
	}
	for i, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o.set(tc.deny, tc.fail)
			value := "v" + string(rune('a'+i))
			status, answer, err := harness.Request(c, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"super.safe.com/level":"`+value+`"}}}`)
			if err != nil {
				t.Fatal(err)
			}
			if status != tc.status || !strings.Contains(answer, tc.says) {
				t.Errorf("got %d %s\nwanted %d and %q", status, answer, tc.status, tc.says)
			}
			// The server retries a failing webhook, so equal verbs in a row count as one.
			if got := slices.Compact(o.verbs()); !slices.Equal(got, tc.asked) {
				t.Errorf("asked %q, wanted %q", got, tc.asked)
			}
			o.set(nil, nil)
			_, now, err := harness.Request(c, user, http.MethodGet, path, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if stored := strings.Contains(now, `"super.safe.com/level":"`+value+`"`); stored != (tc.status == http.StatusOK) {
				t.Errorf("the label was stored: %t, the answer was %d", stored, status)
			}
		})
	}
}

// TestFailureIsNoAnswer tests a webhook in front of RBAC that fails on one verb, with the
// failure policy NoOpinion. The failure must not prevent what another verb allows, and must
// allow nothing itself. The webhook's error must appear only in the server's log.
func TestFailureIsNoAnswer(t *testing.T) {
	o := &opinions{failsWith: http.StatusForbidden}
	webhook := harness.ServeWebhook(t, o)
	config, err := harness.WriteAuthorizationConfigFailing(t.TempDir(), webhook, "NoOpinion")
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, "--authorization-config", config)

	const supersafe = "system:serviceaccount:default:supersafe"
	const path = "/apis/apps/v1/namespaces/default/deployments/web"
	const told = "the authorizer could not say which permissions the caller holds"
	const label, replicas = `{"metadata":{"labels":{"super.safe.com/level":"VALUE"}}}`, `{"spec":{"replicas":7}}`
	among := func(verbs ...string) func(string) bool {
		return func(v string) bool { return slices.Contains(verbs, v) }
	}
	asked := []string{"patch", "granular", "granular:metadata", "granular:labels", "granular:label(super.safe.com)",
		"get"}
	// The verb of the key is asked for if no other one is held.
	const key = "granular:label(super.safe.com/level)"
	other := []string{"patch", "granular", "granular:specification", "granular:replicas", "get"}
	for i, tc := range []struct {
		name       string
		user       string
		deny, fail func(string) bool
		body       string
		status     int
		says       string
		asked      []string
	}{
		{name: "one general permission", fail: among(asked[2]), body: label, status: 200, asked: asked},
		{name: "both general permissions", fail: among(asked[2], asked[3]), body: label, status: 200, asked: asked},
		{name: "a failure and a deny", fail: among(asked[2]), deny: among(asked[4]), body: label, status: 500,
			says: told, asked: append(asked[:5:5], key, "get")},
		// After the webhook's failure, RBAC decides, and allows this verb.
		{name: "the specific permission", fail: among(asked[4]), body: label, status: 200, asked: asked},
		{name: "another field", fail: among(other[2]), body: replicas, status: 500, says: told, asked: other},
		{name: "another field, at the specific permission", fail: among(other[3]), body: replicas, status: 500,
			says: told, asked: other},
		{name: "another field, no failure", body: replicas, status: 403, says: "cannot change .spec.replicas",
			asked: other[:4]},
		{name: "another field, a failure that does not matter", fail: among(asked[2]), body: replicas, status: 403,
			says: "cannot change .spec.replicas", asked: other[:4]},
		{name: "granular, which RBAC allows", fail: among("granular"), body: label, status: 200, asked: asked},
		{name: "granular, which nobody allows", user: "nobody:supersafe", fail: among("granular"), body: label,
			status: 500, says: told, asked: asked[:2]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o.set(tc.deny, tc.fail)
			value, user := "v"+string(rune('a'+i)), cmp.Or(tc.user, supersafe)
			status, answer, err := harness.Request(c, user, http.MethodPatch, path, harness.ContentTypes["merge"], strings.Replace(tc.body, "VALUE", value, 1))
			if err != nil {
				t.Fatal(err)
			}
			if status != tc.status || !strings.Contains(answer, tc.says) {
				t.Errorf("got %d %s\nwanted %d and %q", status, answer, tc.status, tc.says)
			}
			for _, quoted := range []string{"out of order", strings.TrimPrefix(webhook.URL, "https://"), "webhook"} {
				if strings.Contains(answer, quoted) {
					t.Errorf("the answer quotes the webhook: %s", answer)
				}
			}
			if got := o.verbs(); !slices.Equal(got, tc.asked) {
				t.Errorf("asked %q, wanted %q", got, tc.asked)
			}
			o.set(nil, nil)
			_, now, err := harness.Request(c, supersafe, http.MethodGet, path, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if stored := strings.Contains(now, `"super.safe.com/level":"`+value+`"`) || strings.Contains(now, `"replicas":7`); stored != (tc.status == http.StatusOK) {
				t.Errorf("the change was stored: %t, the answer was %d", stored, status)
			}
		})
	}
	log, err := os.ReadFile(filepath.Join(c.Dir, "kube-apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Unable to verify a write field by field", "Unable to check whether the caller may write single fields"} {
		if !regexp.MustCompile(line + `.*out of order`).Match(log) {
			t.Errorf("the log has no line %q with what the webhook said", line)
		}
	}
}
