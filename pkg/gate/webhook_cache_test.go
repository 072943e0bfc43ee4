// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
	"k8s.io/client-go/rest"

	"kube-granular.dev/granular/decide"
)

// reviewer is an authorization webhook that allows the verbs for single labels. It counts the
// reviews that it gets. Each of them was missing from the cache of upstream's authorizer, and is
// added to it.
type reviewer struct{ reviews atomic.Int64 }

func (r *reviewer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.reviews.Add(1)
	review.Status.Allowed = strings.HasPrefix(review.Spec.ResourceAttributes.Verb, "granular:label(")
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// upstreamWebhook returns upstream's webhook authorizer, with the cache that it has in a server.
func upstreamWebhook(t *testing.T, r *reviewer) upstream.Authorizer {
	t.Helper()
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	authorizer, err := webhook.New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}, QPS: -1},
		"v1", time.Hour, time.Hour, wait.Backoff{Steps: 1}, upstream.DecisionNoOpinion, nil, "webhook", metrics.NoopAuthorizerMetrics{}, authorizationcel.NewDefaultCompiler())
	if err != nil {
		t.Fatal(err)
	}
	return authorizer
}

// TestWebhookCache checks that a caller that changes labels with ever new keys adds, with each
// request, at most as many entries to upstream's cache of reviews as the budget allows. So it
// takes more than 8192/64 requests to push out an entry that is not used meanwhile.
func TestWebhookCache(t *testing.T) {
	const entries = 8192 // the cache size in newWithBackoff, plugin/pkg/authorizer/webhook/webhook.go
	counted := &reviewer{}
	authorizer := upstreamWebhook(t, counted)
	model, old := target(t, labelled), withLabels(t, "example.com", 0)

	bystander := attributes("get")
	bystander.User = &user.DefaultInfo{Name: "bystander"}
	asks := func() bool {
		before := counted.reviews.Load()
		if _, _, err := authorizer.Authorize(context.Background(), bystander); err != nil {
			t.Fatal(err)
		}
		return counted.reviews.Load() > before
	}
	if !asks() || asks() {
		t.Fatal("the bystander's review is not remembered")
	}
	requests := entries/decide.DefaultBudget - 1
	for i := range requests {
		before := counted.reviews.Load()
		if err := verifyLabels(t, New(authorizer), model, old, withLabels(t, fmt.Sprintf("d%d.example.com", i), 300)); err == nil {
			t.Fatal("300 labels, each with its own permission, were allowed")
		}
		if added := counted.reviews.Load() - before; added > decide.DefaultBudget || added < decide.DefaultBudget-2 {
			t.Fatalf("request %d added %d reviews", i, added)
		}
	}
	if asks() {
		t.Errorf("%d requests pushed the bystander's review out", requests)
	}
	// The last check renewed the bystander's entry, so it is the last one that is pushed out. The
	// two more general verbs are cached already, so each request adds two entries less.
	for i := range entries/(decide.DefaultBudget-2) + 1 {
		if err := verifyLabels(t, New(authorizer), model, old, withLabels(t, fmt.Sprintf("e%d.example.com", i), 300)); err == nil {
			t.Fatal("300 labels, each with its own permission, were allowed")
		}
	}
	if !asks() {
		t.Error("the cache holds more than upstream says: the bound that is documented is not the one that holds")
	}
}
