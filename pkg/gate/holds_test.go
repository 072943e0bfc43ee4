// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"
	"testing"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
)

// TestHolds checks that only the authorizer's Allow lets a caller hold a verb, and that a failure is an error
// without the words of the authorizer.
func TestHolds(t *testing.T) {
	const verb = "granular:permissionExclusion"
	for name, tc := range map[string]struct {
		authorizer upstream.UnconditionalAuthorizer
		ctx        context.Context
		held       bool
		says       string
	}{
		"allowed":              {&grants{allow: []string{verb}}, requestContext("update"), true, ""},
		"allowed and an error": {erring{says: map[string]upstream.Decision{verb: upstream.DecisionAllow}, fails: map[string]error{verb: errErring}, asked: &[]string{}}, requestContext("update"), true, ""},
		"another verb":         {&grants{allow: []string{"update"}}, requestContext("update"), false, ""},
		"denied":               {&grants{deny: []string{verb}}, requestContext("update"), false, ""},
		"no answer":            {&grants{fail: []string{verb}}, requestContext("update"), false, errUnanswered.Error()},
		"no request":           {&grants{allow: []string{verb}}, context.Background(), false, "no RequestInfo"},
	} {
		held, err := Holds(tc.ctx, tc.authorizer, verb)
		if held != tc.held || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %t, %v, want %t, %q", name, held, err, tc.held, tc.says)
		}
	}
}
