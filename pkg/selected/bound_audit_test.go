// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	ours "kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
)

// TestBoundRefusalsOfRequests checks that the reason why no bound account may do something is recorded for the request
// itself, and for no other question.
func TestBoundRefusalsOfRequests(t *testing.T) {
	w := newAgents(t, boundToD)
	_, got := w.handle(t, agentWith("account-1", ""), nil)
	s := got.(*User)
	for name, tc := range map[string]struct {
		resource, subresource string
		own                   bool
		want                  delegation.Reason
	}{
		"a token":                   {"serviceaccounts", "token", true, delegation.Bound},
		"a token, another question": {"serviceaccounts", "token", false, ""},
		"a connection":              {"pods", "exec", true, delegation.Bound},
		"a pod":                     {"pods", "", true, ""},
	} {
		s.refused.Store(nil)
		a := &authorizer.AttributesRecord{User: s, Verb: "create", Namespace: "n", Resource: tc.resource, Subresource: tc.subresource, ResourceRequest: true}
		ctx := t.Context()
		if tc.own {
			ctx = request.WithRequestInfo(request.WithUser(ctx, s), &request.RequestInfo{IsResourceRequest: true, Verb: "create", Namespace: "n", Resource: tc.resource, Subresource: tc.subresource})
		}
		decision, _, err := w.auth.Authorize(ctx, a)
		if (decision == authorizer.DecisionAllow) != (name == "a pod") || err != nil {
			t.Errorf("%s: %v, %v", name, decision, err)
		}
		if refusal := s.refused.Load(); (refusal != nil) != (tc.want != "") || refusal != nil && refusal.Reason != tc.want {
			t.Errorf("%s: refused for %v", name, refusal)
		}
	}
}

// TestHandledRequest checks what the handler does for a request under a delegation besides naming its user: it writes the
// selection and the refusal to the audit log, demands that conditions are verified, and ends what the request has started.
func TestHandledRequest(t *testing.T) {
	for name, conditions := range map[string][]v1alpha1.DelegationCondition{"conditions": {{Expression: "true"}}, "no conditions": nil} {
		w := newAgents(t, "")
		d := delegated(on("get", "pods"))
		d.Name, d.UID, d.Spec.Conditions = "e", "e", conditions
		w.index.Observe(d, false)
		ctx, annotation := audited(t)
		req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods", nil)
		req.Header.Set(selection.Header, `{"authorityReference":{"kind":"AuthorityDelegation","name":"e"}}`)
		ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "bot"})
		ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "watch", Resource: "pods", Namespace: "n"})
		var inside context.Context
		Selection{Delegations: w.index, Bound: w.bound}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			inside = req.Context()
			if inside.Err() != nil {
				t.Error("the request has ended before it is served")
			}
			u, _ := request.UserFrom(inside)
			u.(*User).refused.Store(&delegation.Refusal{Reason: delegation.NotCovered})
		}), codecs).ServeHTTP(httptest.NewRecorder(), req.WithContext(ctx))
		if inside == nil {
			t.Fatal("the request is not served")
		}
		if inside.Err() == nil {
			t.Errorf("%s: the watch goes on after the request", name)
		}
		if refusal := seam.Refuse(inside, schema.GroupResource{Resource: "pods"}, "web"); (refusal != nil) != (conditions != nil) {
			t.Errorf("%s: conditions are demanded: %v", name, refusal)
		}
		if !strings.Contains(annotation(ours.SelectedAnnotation), `"name":"e"`) || annotation(ours.RefusedAnnotation) != string(delegation.NotCovered) {
			t.Errorf("%s: audited %q, %q", name, annotation(ours.SelectedAnnotation), annotation(ours.RefusedAnnotation))
		}
	}
}
