// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
)

// TestMatchConditions checks the order of KEP-3221 for the match conditions of a webhook, for
// authorization checks of the verb granular. If a condition is false, the server skips the
// webhook, even if another condition fails. If all are true, it asks the webhook. Otherwise a
// condition that fails counts as a failure of the webhook.
func TestMatchConditions(t *testing.T) {
	allow(t, "conditions", "", []string{"configmaps"}, own...)
	path := made(t, "default")
	const (
		about = "request.resourceAttributes.verb == 'granular'"
		fails = "request.resourceAttributes.verb != 'granular' || [1][2] == 1"
		never = "request.user == 'nobody'"
	)
	for _, tc := range []struct {
		name  string
		match []string
		// asked are the expected checks that the webhook receives. The webhook denies each of
		// them.
		asked []string
		// codes maps the failure policy to the expected status code.
		codes map[string]int
	}{
		{"all are true", []string{aboutObjects, about}, []string{"conditions granular"},
			map[string]int{"Deny": 403, "NoOpinion": 403}},
		{"one is false", []string{about, never}, nil, map[string]int{"Deny": 200, "NoOpinion": 200}},
		{"one is false after one that fails", []string{fails, about, never}, nil,
			map[string]int{"Deny": 200, "NoOpinion": 200}},
		{"one is false before one that fails", []string{never, about, fails}, nil,
			map[string]int{"Deny": 200, "NoOpinion": 200}},
		{"one fails", []string{about, fails}, nil, map[string]int{"Deny": 500, "NoOpinion": 200}},
	} {
		for _, failure := range []string{"Deny", "NoOpinion"} {
			t.Run(tc.name+" "+failure, func(t *testing.T) {
				asked := &asking{}
				h := newHook(t, asked, "conditions", `deny: [{users: [conditions]}]`)
				use(t, h.in(settings{failure: failure, match: tc.match}), node, rbac)
				a := send(t, "conditions", http.MethodPatch, path, "merge", label(failure))
				if a.Code != tc.codes[failure] {
					t.Errorf("got %s, wanted %d", a, tc.codes[failure])
				}
				equal(t, tc.name, asked.verbs("conditions"), tc.asked)
			})
		}
	}
}

// TestOldReviews checks a webhook that uses SubjectAccessReview v1beta1. It receives the checks
// of granular verbs in that version, and match conditions still see v1. What the webhook allows
// is allowed, and nothing more.
func TestOldReviews(t *testing.T) {
	path := made(t, "default")
	var mu sync.Mutex
	var got []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		review := &authorizationv1beta1.SubjectAccessReview{}
		if err := json.NewDecoder(req.Body).Decode(review); err != nil || review.APIVersion != "authorization.k8s.io/v1beta1" {
			http.Error(w, "no review of v1beta1", http.StatusBadRequest)
			return
		}
		if review.Spec.ResourceAttributes != nil { // the probe asks about a path
			verb := review.Spec.ResourceAttributes.Verb
			mu.Lock()
			// In v1beta1, the field for groups is named "group".
			got = append(got, strings.Join(append([]string{verb}, review.Spec.Groups...), " "))
			mu.Unlock()
			review.Status.Allowed = slices.Contains([]string{"granular", "granular:label(own.example.com)", "get"}, verb)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	h := hookAt(t, "old", server.URL)
	old := strings.Replace(h.in(settings{match: []string{
		aboutObjects, "'system:authenticated' in request.groups", "request.user == 'old'", "request.resourceAttributes.verb != 'granular:metadata'",
	}}), "    subjectAccessReviewVersion: v1\n", "    subjectAccessReviewVersion: v1beta1\n", 1)
	use(t, old, node, rbac)
	expect(t, send(t, "old", http.MethodPatch, path, "merge", label(1)), 200, "")
	want := []string{"patch", "granular", "granular:labels", "granular:label(own.example.com)", "get"}
	for i := range want {
		want[i] += " system:authenticated"
	}
	mu.Lock()
	equal(t, "by v1beta1", got, want)
	mu.Unlock()
	expect(t, send(t, "old", http.MethodPatch, path, "merge", `{"data":{"a":"b"}}`), 403, "cannot change .data")
}
