// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// gets is a getter that counts how often it gets each cluster role.
type gets struct {
	rbac.ClusterRoleGetter
	times map[string]int
}

func (g *gets) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	g.times[name]++
	return g.ClusterRoleGetter.GetClusterRole(ctx, name)
}

// TestSeveral holds that the checks under one context of ForSeveral look up the bindings of
// their caller, and the first maxRoles roles, only once, and that checks under other contexts
// look them up again.
func TestSeveral(t *testing.T) {
	p := newPolicy()
	const bound = maxRoles + 2
	for i := range bound {
		name := fmt.Sprintf("r%d", i)
		put(t, p.clusterRoles, clusterRole(name, "v"))
		put(t, p.bindings, binding("a", name, name, jane))
		put(t, p.clusterBindings, clusterBinding(name, name, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "others"}))
	}
	looked := 0
	look := func(string) { looked++ }
	roles := &gets{rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(p.clusterRoles.GetIndexer())},
		map[string]int{}}
	authorizer := rbac.New(nil, Listers{}.Role(lookedInto{p.bindings, look}, nil), Listers{}.ClusterRoles(p.clusterRoles, roles), Listers{}.ClusterRole(lookedInto{p.clusterBindings, look}, nil))
	question := asks(&user.DefaultInfo{Name: "jane"})
	ask := func(ctx context.Context, verb string) upstream.Decision {
		question.Verb = verb
		decision, _, _ := authorizer.Authorize(ctx, question)
		return decision
	}
	several, _ := ForSeveral(context.Background(), question)
	for range 4 {
		if ask(several, "other") != upstream.DecisionNoOpinion {
			t.Error("allowed")
		}
	}
	if looked != 2 {
		t.Errorf("looked for bindings %d times, wanted one of either kind", looked)
	}
	kept := 0
	for name, times := range roles.times {
		if times == 1 {
			kept++
		} else if times != 4 {
			t.Errorf("%s was got %d times", name, times)
		}
	}
	if len(roles.times) != bound || kept != maxRoles {
		t.Errorf("got %d roles, %d of them kept, wanted %d and %d", len(roles.times), kept, bound, maxRoles)
	}

	looked = 0
	once := For(context.Background(), question)
	for range 2 {
		ask(once, "other")
	}
	if looked != 4 {
		t.Errorf("looked for bindings %d times, wanted one of either kind for each question under For", looked)
	}
	for i := range bound {
		if err := p.bindings.GetStore().Delete(binding("a", fmt.Sprintf("r%d", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	if ask(several, "v") != upstream.DecisionAllow {
		t.Error("the checks of one query do not use the bindings of one moment")
	}
	anew, _ := ForSeveral(several, question)
	for name, ctx := range map[string]context.Context{"For": For(several, question), "ForSeveral": anew} {
		if ask(ctx, "v") != upstream.DecisionNoOpinion {
			t.Errorf("a check under %s uses what another query has cached", name)
		}
	}
}
