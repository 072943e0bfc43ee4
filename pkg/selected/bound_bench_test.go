// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/selection"
)

// BenchmarkBound measures the handler and one authorization of a request of a service account: without delegations, with no
// bound account, beside a bound account, by a bound account, and by one that selects the same delegation.
func BenchmarkBound(b *testing.B) {
	bound, free := newAgents(b, boundToD), newAgents(b, "")
	agent := agentWith("account-1", "")
	neighbour := &user.DefaultInfo{Name: "system:serviceaccount:agents:neighbour", UID: "u", Groups: agent.Groups}
	for _, tc := range []struct {
		name string
		sel  Selection
		auth *Authorizer
		as   user.Info
		head string
	}{
		{"no-delegations", Selection{}, New(free.auth.Authorizer, nil, nil), neighbour, ""},
		{"none-bound", Selection{Delegations: free.index, Bound: free.bound}, free.auth, neighbour, ""},
		{"beside", Selection{Delegations: bound.index, Bound: bound.bound}, bound.auth, neighbour, ""},
		{"bound", Selection{Delegations: bound.index, Bound: bound.bound}, bound.auth, agent, ""},
		{"selecting", Selection{Delegations: free.index, Bound: free.bound}, free.auth, agent, selectsD},
	} {
		b.Run(tc.name, func(b *testing.B) {
			info := &request.RequestInfo{IsResourceRequest: true, Verb: "get", Resource: "pods", Namespace: "n"}
			handler := tc.sel.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				u, _ := request.UserFrom(req.Context())
				if d, _, _ := tc.auth.Authorize(req.Context(), ask(u, "get", "n", "pods")); (d == authorizer.DecisionAllow) != (tc.as == user.Info(agent)) {
					b.Fatal("wrong decision")
				}
			}), codecs)
			req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods", nil)
			req = req.WithContext(request.WithRequestInfo(request.WithUser(b.Context(), tc.as), info))
			rec := httptest.NewRecorder()
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				if tc.head != "" {
					req.Header[selection.Header] = []string{tc.head}
				}
				handler.ServeHTTP(rec, req)
			}
		})
	}
}
