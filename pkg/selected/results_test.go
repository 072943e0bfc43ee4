// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics/legacyregistry"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/metrics"
)

var registered = sync.OnceFunc(func() { metrics.RegisterDelegations(func() *metrics.Delegations { return nil }) })

// results returns how many requests under delegations were counted, by result and reason.
func results(t *testing.T) map[string]float64 {
	t.Helper()
	registered()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "apiserver_granular_authorization_delegation_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			key := ""
			for _, label := range m.GetLabel() { // reason, result
				key = label.GetValue() + " " + key
			}
			out[key] = m.GetCounter().GetValue()
		}
	}
	return out
}

// TestResultsAreCounted checks that each request under a delegation is counted once, when it has ended, with the reason of
// its last refusal. A request that selects none, or that failed before its delegation was asked, is not counted.
func TestResultsAreCounted(t *testing.T) {
	const selecting = `{"authorityReference":{"kind":"AuthorityDelegation","name":"e"}}`
	notCovered := &delegation.Refusal{Reason: delegation.NotCovered}
	for name, tc := range map[string]struct {
		selected string
		serve    func(u *User)
		want     string
	}{
		"allowed":                {selecting, func(u *User) { u.allowed.Store(true) }, "allowed  "},
		"refused":                {selecting, func(u *User) { u.refused.Store(notCovered) }, "refused NotCovered "},
		"allowed, later refused": {selecting, func(u *User) { u.allowed.Store(true); u.refused.Store(notCovered) }, "refused NotCovered "},
		"not asked":              {selecting, func(*User) {}, ""},
		"a role":                 {view, func(u *User) { u.allowed.Store(true) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgents(t, "")
			d := delegated(on("get", "pods"))
			d.Name, d.UID = "e", "e"
			w.index.Observe(d, false)
			before := results(t)
			req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods", nil)
			req.Header.Set(selection.Header, tc.selected)
			ctx := request.WithUser(req.Context(), &user.DefaultInfo{Name: "bot"})
			ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "list", Resource: "pods", Namespace: "n"})
			Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				if diff := cmp.Diff(before, results(t)); diff != "" {
					t.Errorf("counted before the end: %s", diff)
				}
				u, _ := request.UserFrom(req.Context())
				tc.serve(u.(*User))
			}), codecs).ServeHTTP(httptest.NewRecorder(), req.WithContext(ctx))
			if tc.want != "" {
				before[tc.want]++
			}
			if diff := cmp.Diff(before, results(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
