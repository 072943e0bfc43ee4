// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/test/integration/harness"
)

// opinions is an authorization webhook in front of RBAC. It denies the verb that the name of a user begins
// with, has no opinion about all else, and keeps the verbs that it is asked about.
type opinions struct {
	mu    sync.Mutex
	asked map[string][]string
}

func (o *opinions) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	harness.Review(w, req, func(review *authorizationv1.SubjectAccessReview) error {
		user, attributes := review.Spec.User, review.Spec.ResourceAttributes
		if attributes == nil {
			return nil
		}
		review.Status.Denied = strings.HasPrefix(user, "denied-"+attributes.Verb)
		if attributes.Resource == "secrets" {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.asked[user] = append(o.asked[user], attributes.Verb)
		}
		return nil
	})
}

func (o *opinions) take(user string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer delete(o.asked, user)
	return strings.Join(o.asked[user], " ")
}

// TestAuthorizers checks that a Deny of the ordinary verb, or of readmetadata, is final, and that an
// authorizer is asked about readmetadata only for requests that it could allow.
//
// Attack: a caller whom an authorizer denies list, and who holds readmetadata by another authorizer, lists metadata
// Answer: upstream's 403
func TestAuthorizers(t *testing.T) {
	webhook := &opinions{asked: map[string][]string{}}
	config, err := harness.WriteAuthorizationConfig(t.TempDir(), harness.ServeWebhook(t, webhook))
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Start(t, "--demo=false", "--feature-gates", "MetadataReads=true", "--authorization-config", config)
	client := harness.Connect(t, c, "admin")
	for _, user := range []string{"denied-list", "holder"} { // that of a caller who is denied readmetadata would never be seen
		harness.Allow(t, harness.Administrator(t, c), user, rule("", "secrets", "readmetadata"))
	}
	const path = "/api/v1/namespaces/default/secrets"
	for _, tc := range []struct {
		user, path, accept string
		code               int
		asked              string
	}{
		{"holder", path, listed, 200, "list readmetadata"},
		{"holder", path, "application/json", 403, "list"},
		{"holder", path, as1("application/json", "PartialObjectMetadata"), 403, "list"},
		{"holder", path + "/a", as1("application/json", "PartialObjectMetadata"), 404, "get readmetadata"},
		{"holder", path + "/a/status", as1("application/json", "PartialObjectMetadata"), 403, "get"},
		{"stranger", path, listed, 403, "list readmetadata"},
		{"stranger", path, "application/json", 403, "list"},
		{"denied-list", path, listed, 403, "list"},
		{"denied-list", path + "/a", as1("application/json", "PartialObjectMetadata"), 404, "get readmetadata"},
		{"denied-readmetadata", path, listed, 403, "list readmetadata"},
	} {
		webhook.take(tc.user)
		reader := reader{client, tc.user}
		answer := reader.get(t, tc.path, tc.accept)
		if asked := webhook.take(tc.user); answer.Code != tc.code || asked != tc.asked {
			t.Errorf("%s, %s as %s: %v; asked about %q, wanted %d and %q", tc.user, tc.path, tc.accept, answer, asked, tc.code, tc.asked)
		}
	}
}
