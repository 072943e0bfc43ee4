// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/test/integration/harness"
)

// counting is an authorization webhook that allows the user "counted" some verbs and records
// the verbs that it was asked about.
type counting struct {
	mu    sync.Mutex
	allow func(verb string) bool
	asked []string
}

func (c *counting) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	harness.Review(w, req, func(review *authorizationv1.SubjectAccessReview) error {
		review.Status = authorizationv1.SubjectAccessReviewStatus{}
		if a := review.Spec.ResourceAttributes; a != nil && review.Spec.User == "counted" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.asked = append(c.asked, a.Verb)
			review.Status.Allowed = c.allow(a.Verb)
		}
		return nil
	})
}

// reset forgets the recorded verbs and sets which verbs are allowed from now on.
func (c *counting) reset(allow func(string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.allow = nil, allow
}

// TestBudget checks that a request that changes 5,000 labels causes only a bounded number of
// authorizer calls and takes a bounded time, and that the refusal names a verb that helps.
//
// Attack: 5,000 labels in one request
// Answer: at most 64 permission verbs, well under a second
func TestBudget(t *testing.T) {
	webhook := &counting{allow: func(string) bool { return false }}
	server := harness.ServeWebhook(t, webhook)
	c := harness.Start(t, "--", "--authorization-mode=Webhook,RBAC", "--authorization-webhook-config-file="+harness.WebhookKubeconfig(t, server), "--authorization-webhook-version=v1",
		"--authorization-webhook-cache-authorized-ttl=0s", "--authorization-webhook-cache-unauthorized-ttl=0s")
	labels := func(value string) string {
		set := map[string]string{}
		for i := range 5000 {
			set[fmt.Sprintf("d%d.example.com/a", i)] = value
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": set}})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	one := func(verbs ...string) func(string) bool {
		return func(verb string) bool { return slices.Contains(verbs, verb) }
	}
	each := func(verb string) bool {
		return verb == "granular" || strings.HasPrefix(verb, "granular:label(")
	}
	tests := []struct {
		name   string
		allow  func(string) bool
		status int
		says   string
		calls  int
	}{
		// calls counts the ordinary verb and granular, then the permissions, then get.
		{"none", one("granular"), 403, `cannot change .metadata.labels[d0.example.com/a]`, 2 + 3 + 1},
		{"all of them by one permission", one("granular", "granular:labels"), 200, "", 2 + 2 + 1},
		{"each by its own", each, 403,
			fmt.Sprintf(`more than %d permissions would have to be checked for this request; hold the verb \"granular:labels\" instead`, decide.DefaultBudget),
			2 + decide.DefaultBudget + 1},
	}
	for i, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var first []string
			for again := range 2 {
				webhook.reset(tc.allow)
				start := time.Now()
				status, answer, err := harness.Request(c, "counted", http.MethodPatch, demo, harness.ContentTypes["merge"], labels(fmt.Sprintf("v%d-%d", i, again)))
				took := time.Since(start)
				if err != nil {
					t.Fatal(err)
				}
				if status != tc.status || !strings.Contains(answer, tc.says) {
					t.Fatalf("%d %.300s, wanted %d and %q", status, answer, tc.status, tc.says)
				}
				webhook.mu.Lock()
				asked := webhook.asked
				webhook.mu.Unlock()
				if len(asked) > tc.calls {
					t.Errorf("%d authorizer calls, wanted at most %d: %q", len(asked), tc.calls, asked)
				}
				if took > 20*time.Second {
					t.Errorf("it took %s", took)
				}
				t.Logf("%d authorizer calls in %s", len(asked), took)
				if again == 0 {
					first = asked
				} else if !slices.Equal(first, asked) {
					t.Errorf("the second time it asked %q, the first time %q", asked, first)
				}
			}
		})
	}
}
