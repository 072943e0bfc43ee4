// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// explaining records the reason of each verb that the authorizer allowed.
type explaining struct {
	upstream.Authorizer
	reasons map[string]string
}

func (e *explaining) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	decision, reason, err := e.Authorizer.Authorize(ctx, a)
	if decision == upstream.DecisionAllow {
		e.reasons[a.GetVerb()] = reason
	}
	return decision, reason, err
}

// TestReasons checks that RBAC returns a reason when it allows the verb of the request or the
// verb "granular", because the audit event shows it. For checks of single fields it returns the
// same decisions, but no reason, which is cheaper.
func TestReasons(t *testing.T) {
	const because = `RBAC: allowed by ClusterRoleBinding "janes" of ClusterRole "things" to User "jane"`
	gate, _, _, marked := passedFilter(t, sized("granular", "granular:size", "create", "get"))
	rbac := &explaining{gate.Authorizer, map[string]string{}}
	gate.Authorizer = rbac
	who := filterStateFrom(marked).attributes.GetUser()

	for verb, told := range map[string]func(a upstream.Attributes) (upstream.Decision, string, error){
		"create": func(a upstream.Attributes) (upstream.Decision, string, error) {
			return gate.Authorize(t.Context(), a)
		},
		"update": func(a upstream.Attributes) (upstream.Decision, string, error) {
			_, decision, reason, err := gate.Fallback(requestContext("update"), a)
			return decision, reason, err
		},
	} {
		a := attributes(verb)
		a.User = who
		if decision, reason, err := told(&a); decision != upstream.DecisionAllow || reason != because || err != nil {
			t.Errorf("%s: %v, %q, %v", verb, decision, reason, err)
		}
	}
	to := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	create := attributes("create")
	create.User = who
	_, decision, reason, err := gate.AuthorizeCreate(marked, to, nil, &create)
	if decision != upstream.DecisionAllow || reason != because || err != nil {
		t.Errorf("a create that is implied: %v, %q, %v", decision, reason, err)
	}

	w := gate.Begin(marked, to)
	if err := w.Observe(marked, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	judged(t, w.Verify(marked, object(t, larger), object(t, plain)), granular.MarkerFrom(marked), "")
	want := map[string]string{"create": because, "granular": because, "granular:size": "", "get": ""}
	if diff := cmp.Diff(want, rbac.reasons); diff != "" {
		t.Error(diff)
	}
}
