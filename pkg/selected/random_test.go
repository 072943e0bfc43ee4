// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"math/rand/v2"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	covering "k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/rbacindex"
)

const worlds = 10000

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func some[T any](r *rand.Rand, from ...T) []T {
	var out []T
	for range 1 + r.IntN(2) {
		out = append(out, pick(r, from...))
	}
	return out
}

func anyRules(r *rand.Rand) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for range pick(r, 0, 1, 1, 2) {
		verbs := some(r, "get", "create", "granular", "granular:labels", "*", "*")
		if r.IntN(6) == 0 {
			out = append(out, rbacv1.PolicyRule{Verbs: verbs, NonResourceURLs: some(r, "/metrics", "/logs/*", "/logs/a", "*")})
			continue
		}
		var names []string
		if r.IntN(4) == 0 {
			names = some(r, "a", "b")
		}
		out = append(out, rule(verbs, some(r, "", "", "certificates.k8s.io", "*", "*"), some(r, "pods", "pods/log", "serviceaccounts/token", "certificatesigningrequests", "*/log", "*", "*"), names))
	}
	return out
}

func anySubjects(r *rand.Rand) []rbacv1.Subject {
	return some(r, named("u0"), named("u1"), named("system:serviceaccount:n0:s"), group("g0"), group("g1"), group("system:masters"),
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "s"}, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "n0", Name: "s"})
}

func anyWorld(r *rand.Rand) *world {
	w := &world{}
	for i := range 3 {
		w.clusterRoles = append(w.clusterRoles, clusterRole(fmt.Sprintf("c%d", i), anyRules(r)...))
		w.roles = append(w.roles, role(pick(r, "n0", "n1"), fmt.Sprintf("r%d", i), anyRules(r)...))
	}
	for i := range 1 + r.IntN(4) {
		w.clusterRoleBindings = append(w.clusterRoleBindings, clusterBinding(fmt.Sprintf("b%d", i), pick(r, "c0", "c1", "c0", "c1", "none"), anySubjects(r)...))
	}
	for i := range 2 + r.IntN(6) {
		kind := pick(r, "Role", "ClusterRole")
		name := pick(r, "c0", "c1", "c2")
		if kind == "Role" {
			name = pick(r, "r0", "r1", "r2", "none")
		}
		w.roleBindings = append(w.roleBindings, binding(pick(r, "n0", "n1"), fmt.Sprintf("b%d", i), kind, name, anySubjects(r)...))
	}
	return w
}

func (w *world) policy(t *testing.T) *objects {
	p := newPolicy()
	for _, o := range w.roles {
		put(t, p.roles, o)
	}
	for _, o := range w.clusterRoles {
		put(t, p.clusterRoles, o)
	}
	for _, o := range w.roleBindings {
		put(t, p.roleBindings, o)
	}
	for _, o := range w.clusterRoleBindings {
		put(t, p.clusterRoleBindings, o)
	}
	return p
}

func anyUser(r *rand.Rand) user.Info {
	u := &user.DefaultInfo{Name: pick(r, "u0", "u1", "system:serviceaccount:n0:s"),
		Groups: []string{"system:authenticated"}}
	for _, g := range []string{"g0", "g1"} {
		if r.IntN(3) == 0 {
			u.Groups = append(u.Groups, g)
		}
	}
	if r.IntN(10) == 0 {
		u.Groups = append(u.Groups, "system:masters")
	}
	return u
}

func anySelection(r *rand.Rand) *selection.SelectedAuthority {
	if r.IntN(2) == 0 {
		return selection.ClusterRole(pick(r, "c0", "c1", "c2", "none"))
	}
	return selection.Role(pick(r, "n0", "n1"), pick(r, "r0", "r1", "r2", "none"))
}

func anyRequest(r *rand.Rand) *authorizer.AttributesRecord {
	if r.IntN(8) == 0 {
		return &authorizer.AttributesRecord{Verb: pick(r, "get", "create"),
			Path: pick(r, "/metrics", "/logs/a", "/logs/b")}
	}
	a := &authorizer.AttributesRecord{ResourceRequest: true,
		Verb:      pick(r, "get", "create", "granular", "granular:labels"),
		Namespace: pick(r, "n0", "n1", "n0", "n1", ""), Name: pick(r, "", "a", "b")}
	a.APIGroup, a.Resource, a.Subresource = "", "pods", pick(r, "", "log")
	switch r.IntN(8) {
	case 0:
		a.Resource, a.Subresource = "serviceaccounts", "token"
	case 1:
		a.APIGroup, a.Resource, a.Subresource = "certificates.k8s.io", "certificatesigningrequests", pick(r, "", "approval")
	}
	return a
}

// TestNarrows holds that a caller who selects a role is allowed exactly what the independent
// model (world) allows, and nothing that the caller is not allowed without the selection. The
// result must be the same for a selection by header and by extra attribute, and with and without
// the index of bindings by subject. Roles, callers, selections, requests and authorizers are
// random.
func TestNarrows(t *testing.T) {
	counted := map[string]int{}
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 20))
		w := anyWorld(r)
		p := w.policy(t)
		before, after := pick(r, authorizer.DecisionNoOpinion, authorizer.DecisionNoOpinion, authorizer.DecisionAllow, authorizer.DecisionDeny), pick(r, authorizer.DecisionNoOpinion, authorizer.DecisionDeny, authorizer.DecisionAllow)
		about := pick(r, "get", "create", "granular")
		says := func(d authorizer.Decision) opinion {
			return func(a authorizer.Attributes) authorizer.Decision {
				if a.GetVerb() == about {
					return d
				}
				return authorizer.DecisionNoOpinion
			}
		}
		configured := chained(t, p.rbac, says(before), p.rbac, says(after))
		a := New(configured, nil, nil)

		u, s, q := anyUser(r), anySelection(r), anyRequest(r)
		rules := w.selectedRules(u, q.Namespace, &s.AuthorityReference)
		byRole := allow(rules, q)
		denied := q.Verb == about && (before == authorizer.DecisionDeny || before == authorizer.DecisionNoOpinion && !byRole && after == authorizer.DecisionDeny)
		want := byRole && !denied && !mints(q)

		q.User = u
		ambient, _, _ := a.Authorize(t.Context(), q)
		if want && ambient != authorizer.DecisionAllow {
			t.Fatalf("seed %d: the opinion allows what is not allowed without a selection: %+v, %s", seed, q, u.GetName())
		}
		for way, as := range map[string]user.Info{"header": selecting(t, u, s), "extra": told(t, u, s)} {
			q := *q
			q.User = as
			for index, ctx := range map[string]func() (decision authorizer.Decision){
				"": func() authorizer.Decision { d, _, _ := a.Authorize(t.Context(), &q); return d },
				", by subject": func() authorizer.Decision {
					d, _, _ := a.Authorize(rbacindex.For(t.Context(), &q), &q)
					return d
				},
			} {
				if got := ctx(); (got == authorizer.DecisionAllow) != want || denied && got != authorizer.DecisionDeny {
					t.Fatalf("seed %d, %s%s: decision %v, wanted allowed %t, denied %t: %+v of %s %v selecting %+v", seed, way, index, got, want, denied, q, u.GetName(), u.GetGroups(), s.AuthorityReference)
				}
			}
			sameRules(t, seed, p, as, u, q.Namespace, rules)
		}
		counted[fmt.Sprintf("allowed %t, without a selection %t", want, ambient == authorizer.DecisionAllow)]++
		if byRole {
			if _, isBound := w.held(u, q.Namespace, &s.AuthorityReference); !isBound {
				counted["allowed by a role that is covered"]++
			}
		}
	}
	t.Log(counted)
	for _, want := range []string{"allowed true, without a selection true", "allowed false, without a selection true", "allowed false, without a selection false", "allowed by a role that is covered"} {
		if counted[want] < worlds/200 {
			t.Errorf("%s: only %d of %d", want, counted[want], worlds)
		}
	}
}

// sameRules checks that for a user with a selection, rules reviews and escalation checks go by
// the selected rules alone, and never allow more than without the selection.
func sameRules(t *testing.T, seed uint64, p *objects, as, ambient user.Info, namespace string, want []rbacv1.PolicyRule) {
	t.Helper()
	got, _ := p.resolver.RulesFor(t.Context(), as, namespace)
	if one, missing := covering.Covers(got, want); !one {
		t.Fatalf("seed %d: rules %v, wanted %v, missing %v", seed, got, want, missing)
	}
	if other, more := covering.Covers(want, got); !other {
		t.Fatalf("seed %d: rules %v, wanted %v, too many are %v", seed, got, want, more)
	}
	r := rand.New(rand.NewPCG(seed, 21))
	grant := anyRules(r)
	ctx := request.WithNamespace(request.WithUser(t.Context(), as), namespace)
	may := validation.ConfirmNoEscalation(ctx, p.resolver, grant) == nil
	if covers, _ := covering.Covers(want, grant); may != covers {
		t.Fatalf("seed %d: may grant %v: %t, wanted %t", seed, grant, may, covers)
	}
	privileged := false
	for _, g := range ambient.GetGroups() {
		privileged = privileged || g == user.SystemPrivilegedGroup
	}
	ctx = request.WithUser(ctx, ambient)
	if may && !privileged && validation.ConfirmNoEscalation(ctx, p.resolver, grant) != nil {
		t.Fatalf("seed %d: may grant %v only with the selection", seed, grant)
	}
}
