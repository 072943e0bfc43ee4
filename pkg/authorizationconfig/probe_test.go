// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestProbe checks which webhooks are healthy: those that answer with a valid review, whatever they
// decide. The error of others names the file, the field, the webhook and the reason.
func TestProbe(t *testing.T) {
	denied := authorizationv1.SubjectAccessReviewStatus{Denied: true}
	// A handler that answers only when its client has gone.
	slow := func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		// kubeconfig and webhook change what connects to the webhook. They may be nil.
		kubeconfig func(*testing.T, *clientcmdapi.Cluster)
		webhook    func(*apiserverapi.WebhookConfiguration)
		says       string
	}{
		{name: "it allows", handler: answering(authorizationv1.SubjectAccessReviewStatus{Allowed: true})},
		{name: "it denies", handler: answering(denied)},
		{name: "it has no opinion", handler: answering(authorizationv1.SubjectAccessReviewStatus{})},
		{name: "it fails to evaluate", handler: answering(authorizationv1.SubjectAccessReviewStatus{EvaluationError: "no such user"})},
		{name: "it uses v1beta1", handler: deprecated,
			webhook: func(w *apiserverapi.WebhookConfiguration) { w.SubjectAccessReviewVersion = "v1beta1" }},
		{name: "it does not know v1", handler: deprecated, says: "the server rejected our request"},
		{name: "a typo in the address", handler: answering(denied), says: "connection refused",
			kubeconfig: func(t *testing.T, c *clientcmdapi.Cluster) {
				gone := newHook(t, "gone", nil)
				gone.Close()
				c.Server = gone.URL
			}},
		{name: "a typo in the scheme", handler: answering(denied), says: "the server rejected our request",
			kubeconfig: func(_ *testing.T, c *clientcmdapi.Cluster) {
				c.Server, c.CertificateAuthorityData = "http://"+strings.TrimPrefix(c.Server, "https://"), nil
			}},
		{name: "the wrong CA", handler: answering(denied), says: "certificate signed by unknown authority",
			kubeconfig: func(t *testing.T, c *clientcmdapi.Cluster) { c.CertificateAuthorityData = anotherCA(t) }},
		{name: "another server name", handler: answering(denied), says: "certificate is valid for",
			kubeconfig: func(_ *testing.T, c *clientcmdapi.Cluster) { c.TLSServerName = "other.test" }},
		{name: "status 500", handler: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) },
			says: "broken"},
		{name: "status 403", handler: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not you", http.StatusForbidden) },
			says: "not you"},
		{name: "a page", handler: saying("text/html", "<html>welcome</html>"), says: "is not healthy"},
		{name: "another kind", handler: saying("application/json", `{"apiVersion":"v1","kind":"Pod"}`), says: "is not healthy"},
		{name: "another type of the status",
			handler: saying("application/json", `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":"x"}`), says: "is not healthy"},
		{name: "it allows and denies", handler: answering(authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}),
			says: "both allow and deny"},
		{name: "it hangs up", handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, says: "EOF"},
		{name: "it is slow", handler: slow, says: "there is no answer within 3s"},
		{name: "it is slower than its timeout", handler: slow, says: "there is no answer within the timeout of the webhook",
			webhook: func(w *apiserverapi.WebhookConfiguration) { w.Timeout.Duration = time.Millisecond }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, "added", tc.handler)
			if tc.kubeconfig != nil {
				h.write(t, func(c *clientcmdapi.Config) { tc.kubeconfig(t, c.Clusters["w"]) })
			}
			added := h.in()
			if tc.webhook != nil {
				tc.webhook(added.Webhook)
			}
			r := Checks{}.NewReload("a/file", chained(), nil, true)
			reconnects, err := r.Check(t.Context(), chained(added), nil)
			if tc.says == "" {
				if err != nil || !reconnects || h.count() != 1 || r.Due() {
					t.Errorf("got %t, %v after %d reviews; due: %t", reconnects, err, h.count(), r.Due())
				}
				return
			}
			if err == nil || !r.Due() {
				t.Fatalf("got %v; due: %t", err, r.Due())
			}
			for _, what := range []string{"--authorization-config a/file: authorizers[0].connectionInfo.kubeConfigFile: ", `the webhook "added" is not healthy: `, tc.says} {
				if !strings.Contains(err.Error(), what) {
					t.Errorf("%q is not in %v", what, err)
				}
			}
		})
	}
}

// TestProbeQuestion checks what a probe asks, and as whom: with the credentials of the kubeconfig.
func TestProbeQuestion(t *testing.T) {
	h := newHook(t, "asked", answering(authorizationv1.SubjectAccessReviewStatus{}))
	h.write(t, func(c *clientcmdapi.Config) { c.AuthInfos["w"].Token = "a-token" })
	if _, err := (Checks{}).NewReload("f", chained(), nil, true).Check(t.Context(), chained(h.in()), nil); err != nil {
		t.Fatal(err)
	}
	if h.count() != 1 {
		t.Fatalf("%d reviews", h.count())
	}
	asked := h.asked[0]
	path := asked.NonResourceAttributes
	if asked.User != "system:kube-granular:probe" || !slices.Equal(asked.Groups, []string{"system:authenticated"}) || asked.ResourceAttributes != nil ||
		path == nil || path.Verb != "get" || path.Path != "/kube-granular/probe" {
		t.Errorf("asked %v", asked)
	}
	if got := h.headers[0].Get("Authorization"); got != "Bearer a-token" {
		t.Errorf("authorized by %q", got)
	}
	// So that no later review is sent over a connection that only the probe has made.
	if got := h.headers[0].Get("Connection"); got != "close" {
		t.Errorf("the connection is to be %q", got)
	}
}

// TestProbeTimeout checks that an error which comes after the time of all probes is over names the
// webhook too. Whether it is seen is a race, which many webhooks win.
func TestProbeTimeout(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := filepath.Join(t.TempDir(), "gone")
	w := &apiserverapi.WebhookConfiguration{ConnectionInfo: apiserverapi.WebhookConnectionInfo{KubeConfigFile: &gone}}
	webhooks := slices.Repeat([]probed{{name: "w", webhook: w}}, 500)
	for range 20 {
		var errs utilerrors.Aggregate
		if err := probe(ctx, webhooks); !errors.As(err, &errs) || len(errs.Errors()) != len(webhooks) {
			t.Fatalf("%v", err)
		}
		for _, err := range errs.Errors() {
			if !strings.Contains(err.Error(), `the webhook "w" is not healthy: there is no answer within 3s`) {
				t.Fatal(err)
			}
		}
	}
}

// TestProbesTogether checks that all webhooks are asked at the same time: each answers only when all
// are asked. All errors are reported.
func TestProbesTogether(t *testing.T) {
	var missing atomic.Int64
	missing.Store(3)
	all := make(chan struct{})
	together := func(w http.ResponseWriter, req *http.Request) {
		if missing.Add(-1) == 0 {
			close(all)
		}
		select {
		case <-all:
		case <-req.Context().Done():
		}
		answering(authorizationv1.SubjectAccessReviewStatus{})(w, req)
	}
	a, b, c := newHook(t, "a", together), newHook(t, "b", together), newHook(t, "c", together)
	if _, err := (Checks{}).NewReload("f", chained(), nil, true).Check(t.Context(), chained(a.in(), b.in(), c.in()), nil); err != nil {
		t.Error(err)
	}
	b.Close()
	c.Close()
	_, err := Checks{}.NewReload("f", chained(a.in()), nil, true).Check(t.Context(), chained(a.in(), b.in(), c.in()), nil)
	for _, what := range []string{`authorizers[1].connectionInfo`, `"b"`, `authorizers[2].connectionInfo`, `"c"`} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%q is not in %v", what, err)
		}
	}
}
