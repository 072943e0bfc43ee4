// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/test/integration/harness"
)

// owner is a user whom the webhook of a server allows everything. A member of system:masters would not do: no authorizer is
// asked about it.
const owner = "parity-owner"

// questions is the webhook that authorizes for one server. It notes what it is asked.
type questions struct {
	mu    sync.Mutex
	asked []authorizationv1.SubjectAccessReviewSpec
	// config is the authorization configuration of the server: first the webhook, then RBAC.
	config string
}

func newQuestions(t *testing.T) *questions {
	t.Helper()
	q := &questions{}
	webhook := httptest.NewTLSServer(q)
	t.Cleanup(webhook.Close)
	var err error
	if q.config, err = harness.WriteAuthorizationConfig(t.TempDir(), webhook); err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *questions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harness.Review(w, r, func(review *authorizationv1.SubjectAccessReview) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.asked = append(q.asked, review.Spec)
		review.Status.Allowed = review.Spec.User == owner
		return nil
	})
}

// take returns what was asked since the last call.
func (q *questions) take() []authorizationv1.SubjectAccessReviewSpec {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.asked
	q.asked = nil
	return taken
}

// isMore reports whether a question is the one more that a server with its gates on asks about a refused request.
func isMore(asked authorizationv1.SubjectAccessReviewSpec) bool {
	return asked.ResourceAttributes != nil && slices.Contains([]string{"granular", "readmetadata"}, asked.ResourceAttributes.Verb)
}

// differentQuestions returns how the questions of a follower differ from the leader's, and "" if they do not. One more
// question of a refused request is counted in more, and is no difference.
func differentQuestions(leader, follower answer, more *int) string {
	asked := slices.Clone(follower.asked)
	if i := slices.IndexFunc(asked, isMore); i >= 0 && follower.code == http.StatusForbidden && !slices.ContainsFunc(leader.asked, isMore) {
		asked = slices.Delete(asked, i, i+1)
		*more++
	}
	texts := func(all []authorizationv1.SubjectAccessReviewSpec) []string {
		out := make([]string, len(all))
		for i, spec := range all {
			text, err := json.Marshal(spec)
			if err != nil {
				return []string{err.Error()}
			}
			out[i] = normaliseText(string(text))
		}
		return out
	}
	return cmp.Diff(texts(leader.asked), texts(asked))
}
