// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// decisions is an authorizer with a decision for each verb, and NoOpinion for all others.
type decisions map[string]upstream.Decision

func (d decisions) decide(_ context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if decision, known := d[a.GetVerb()]; known {
		return decision, "because", nil
	}
	return upstream.DecisionNoOpinion, "why <not>", nil
}

// withReads is the authorizer of a server with the gate on.
type withReads struct {
	upstream.AuthorizerFunc
	granular.ReadGate
}

// TestFilter checks which requests pass the filter and are marked. A request that a handler then
// refuses is answered, byte for byte, as upstream's filter answers it.
func TestFilter(t *testing.T) {
	const allow, deny = upstream.DecisionAllow, upstream.DecisionDeny
	for name, tc := range map[string]struct {
		decisions      decisions
		passes, marked bool
	}{
		"nothing":                     {decisions{}, false, false},
		"the verb":                    {decisions{"readmetadata": allow}, true, true},
		"the ordinary verb":           {decisions{"list": allow}, true, false},
		"both":                        {decisions{"list": allow, "readmetadata": allow}, true, false},
		"a Deny is final":             {decisions{"list": deny, "readmetadata": allow}, false, false},
		"a Deny of the verb is final": {decisions{"readmetadata": deny}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			send := func(a upstream.UnconditionalAuthorizer, handler http.HandlerFunc) *httptest.ResponseRecorder {
				req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/shop/secrets", nil)
				req.Header.Set("Accept", listAccept)
				ctx := request.WithUser(req.Context(), &user.DefaultInfo{Name: "jane"})
				ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "list", APIVersion: "v1", Resource: "secrets", Namespace: "shop"})
				w := httptest.NewRecorder()
				filters.WithAuthorization(handler, a, metainternalscheme.Codecs).ServeHTTP(w, req.WithContext(ctx))
				return w
			}
			configured := upstream.AuthorizerFunc(tc.decisions.decide)
			passed, marked := false, false
			refuse := func(w http.ResponseWriter, req *http.Request) {
				passed, marked = true, granular.RefuseRead(w, req)
			}
			got := send(withReads{configured, New(configured)}, refuse)
			if passed != tc.passes || marked != tc.marked {
				t.Errorf("passes: %t, marked: %t", passed, marked)
			}
			want := send(configured, func(http.ResponseWriter, *http.Request) {})
			if got.Code != want.Code || got.Body.String() != want.Body.String() || got.Header().Get("Content-Type") != want.Header().Get("Content-Type") {
				t.Errorf("%v %v\nwanted %v %v", got, got.Body, want, want.Body)
			}
		})
	}
}
