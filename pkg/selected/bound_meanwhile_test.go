// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestBoundMeanwhile checks that a request which arrived before its account was bound is refused after that, and that a
// request that arrives later, or one that only asks about the account, is decided as before.
//
// Attack: a watch, or a write, of a service account waits in a queue while the account is bound, and is then allowed by the delegation,
// although nothing ends it with the delegation, and nothing checks what it stores
// Was: got through
// Answer: 403
func TestBoundMeanwhile(t *testing.T) {
	w := newAgents(t, boundToD)
	_, bound := w.handle(t, agentWith("account-1", ""), nil)
	for name, tc := range map[string]struct {
		caller, asked user.Info
		allowed       bool
	}{
		"it waited":                       {agentWith("account-1", ""), agentWith("account-1", ""), false},
		"it waited, with a selection":     {agentWith("account-1", selectsD), agentWith("account-1", selectsD), false},
		"it arrived bound":                {bound, bound, true},
		"another asks about it":           {&user.DefaultInfo{Name: "alice"}, agentWith("account-1", ""), true},
		"it arrived bound, and asks more": {bound, agentWith("account-1", ""), true},
		"nobody asks":                     {nil, agentWith("account-1", ""), true},
	} {
		ctx := t.Context()
		if tc.caller != nil {
			ctx = request.WithUser(ctx, tc.caller)
		}
		got, reason, err := w.auth.Authorize(ctx, ask(tc.asked, "get", "n", "pods"))
		if (got == authorizer.DecisionAllow) != tc.allowed || err != nil {
			t.Errorf("%s: %d, %s, %v", name, got, reason, err)
		}
		if !tc.allowed && reason != errBoundMeanwhile.Error() {
			t.Errorf("%s: %s", name, reason)
		}
	}
}
