// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/selection"
)

// jane returns roles with their bindings, and a user. The user is bound to the ClusterRole view
// in all namespaces, and in the namespace n also to the ClusterRole edit, which allows more, and
// to the Role own.
func jane(t testing.TB) (*objects, user.Info) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("view", on("get", "pods")), clusterRole("edit", on("*", "pods", "secrets")), clusterRole("part", on("get", "secrets")),
		clusterRole("admin", on("*", "*")), clusterRole("logs", on("get", "pods/log")), clusterRole("tokens", on("*", "*", "serviceaccounts/token")))
	put(t, p.roles, role("n", "own", on("get", "services")), role("m", "own", on("get", "secrets")))
	put(t, p.clusterRoleBindings, clusterBinding("view", "view", named("jane")), clusterBinding("admin", "admin", group("admins")))
	put(t, p.roleBindings, binding("n", "edit", "ClusterRole", "edit", named("jane")), binding("n", "own", "Role", "own", named("jane")), binding("m", "own", "Role", "own", named("joe")))
	return p, &user.DefaultInfo{Name: "jane", Groups: []string{"system:authenticated"}}
}

// TestAuthorize checks which requests a caller is allowed with a selected role (want) and
// without a selection (ambient).
func TestAuthorize(t *testing.T) {
	p, jane := jane(t)
	admin := &user.DefaultInfo{Name: "root", Groups: []string{"admins"}}
	master := &user.DefaultInfo{Name: "root", Groups: []string{"system:masters"}}
	a := New(chained(t, p.rbac, p.rbac), nil, nil)
	cluster := selection.ClusterRole
	for _, tc := range []struct {
		user               *selection.SelectedAuthority
		of                 user.Info
		verb, ns, resource string
		want, ambient      authorizer.Decision
	}{
		{cluster("view"), jane, "get", "n", "pods", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("view"), jane, "get", "", "pods", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("view"), jane, "get", "n", "secrets", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		{cluster("edit"), jane, "get", "n", "secrets", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("edit"), jane, "get", "m", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow}, // jane is bound to edit in the namespace n only
		{selection.Role("n", "own"), jane, "get", "n", "services", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{selection.Role("n", "own"), jane, "get", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		{selection.Role("m", "own"), jane, "get", "m", "secrets", authorizer.DecisionNoOpinion,
			authorizer.DecisionNoOpinion}, // bound to joe
		{selection.Role("m", "own"), jane, "get", "n", "secrets", authorizer.DecisionNoOpinion,
			authorizer.DecisionAllow}, // the Role is in another namespace
		{selection.Role("n", "own"), jane, "get", "", "services", authorizer.DecisionNoOpinion,
			authorizer.DecisionNoOpinion},
		{cluster("own"), jane, "get", "n", "services", authorizer.DecisionNoOpinion, authorizer.DecisionAllow}, // own is a Role and not a ClusterRole
		{selection.Role("n", "edit"), jane, "get", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		{cluster("none"), jane, "get", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		// Roles that jane is not bound to: she holds all their rules in one case, and not in the
		// others.
		{cluster("part"), jane, "get", "n", "secrets", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("part"), jane, "get", "m", "secrets", authorizer.DecisionNoOpinion, authorizer.DecisionNoOpinion},
		{cluster("admin"), jane, "get", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		{cluster("view"), admin, "get", "n", "pods", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("view"), admin, "create", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		// A member of system:masters holds the rules of every role, but a selection leaves only
		// those of the selected role.
		{cluster("view"), master, "get", "n", "pods", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("view"), master, "create", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
		{selection.Role("m", "own"), master, "get", "m", "secrets", authorizer.DecisionAllow, authorizer.DecisionAllow},
		{cluster("none"), master, "get", "n", "pods", authorizer.DecisionNoOpinion, authorizer.DecisionAllow},
	} {
		if got, _, err := a.Authorize(t.Context(), ask(tc.of, tc.verb, tc.ns, tc.resource)); got != tc.ambient || err != nil {
			t.Errorf("%+v: without a selection %v, error %v", tc, got, err)
		}
		for _, as := range []user.Info{selecting(t, tc.of, tc.user), told(t, tc.of, tc.user)} {
			got, reason, err := a.Authorize(t.Context(), ask(as, tc.verb, tc.ns, tc.resource))
			if got != tc.want || err != nil || reason == "" {
				t.Errorf("%+v: %v, %s, error %v", tc, got, reason, err)
			}
			if aware := a.ConditionsAwareAuthorize(t.Context(), ask(as, tc.verb, tc.ns, tc.resource)); aware.IsAllow() != (tc.want == authorizer.DecisionAllow) {
				t.Errorf("%+v: aware of conditions %v", tc, aware)
			}
		}
	}
}

// TestReasons holds that a refusal names the selected role, and that it reads the same whether
// or not the role exists.
func TestReasons(t *testing.T) {
	p, jane := jane(t)
	a := New(chained(t, p.rbac, p.rbac), nil, nil)
	there, absent := selection.Role("m", "own"), selection.Role("m", "none")
	_, one, _ := a.Authorize(t.Context(), ask(selecting(t, jane, there), "get", "m", "secrets"))
	_, other, _ := a.Authorize(t.Context(), ask(selecting(t, jane, absent), "get", "m", "secrets"))
	if want := `the selected Role "m/own" does not allow the request, or the caller does not hold all of its permissions`; one != want || strings.ReplaceAll(other, "none", "own") != want {
		t.Errorf("%q and %q", one, other)
	}
	_, reason, _ := a.Authorize(t.Context(), ask(selecting(t, jane, selection.ClusterRole("part")), "get", "n", "secrets"))
	if want := `ClusterRole "part", whose rules the caller holds`; !strings.Contains(reason, want) {
		t.Errorf("%q", reason)
	}
}

// TestChain holds that of the authorizers other than RBAC, a denial counts for a caller who
// selected a role, but an allowance does not.
func TestChain(t *testing.T) {
	p, jane := jane(t)
	view, edit := selecting(t, jane, selection.ClusterRole("view")), selecting(t, jane, selection.ClusterRole("edit"))
	allow, deny, none := authorizer.DecisionAllow, authorizer.DecisionDeny, authorizer.DecisionNoOpinion
	for _, tc := range []struct {
		name       string
		chain      []authorizer.Authorizer
		view, edit authorizer.Decision
	}{
		{"RBAC", []authorizer.Authorizer{p.rbac}, none, allow},
		{"allowed before", []authorizer.Authorizer{always(allow), p.rbac}, none, allow},
		{"allowed after", []authorizer.Authorizer{p.rbac, always(allow)}, none, allow},
		{"denied before", []authorizer.Authorizer{always(deny), p.rbac}, deny, deny},
		{"denied after", []authorizer.Authorizer{p.rbac, always(deny)}, deny, allow},
		{"allowed, then denied", []authorizer.Authorizer{always(allow), always(deny), p.rbac}, none, allow},
	} {
		a := New(chained(t, p.rbac, tc.chain...), nil, nil)
		for _, of := range []struct {
			as   user.Info
			want authorizer.Decision
		}{{view, tc.view}, {edit, tc.edit}} {
			if got, reason, err := a.Authorize(t.Context(), ask(of.as, "get", "n", "secrets")); got != of.want || err != nil {
				t.Errorf("%s: %v, %s, error %v, wanted %v", tc.name, got, reason, err, of.want)
			}
		}
	}
}

// TestWithoutRBAC holds that no role can be selected on a server without RBAC: the roles in its
// storage have no effect.
func TestWithoutRBAC(t *testing.T) {
	p, jane := jane(t)
	s := selecting(t, jane, selection.ClusterRole("view"))
	for name, a := range map[string]*Authorizer{"none": New(chained(t, nil, always(authorizer.DecisionAllow)), nil, nil), "unknown": New(always(authorizer.DecisionAllow), nil, nil)} {
		if got, reason, err := a.Authorize(t.Context(), ask(s, "get", "n", "pods")); got != authorizer.DecisionDeny || !strings.Contains(reason, "RBAC") || err != nil {
			t.Errorf("%s: %v, %s, error %v", name, got, reason, err)
		}
		if got, _, _ := a.Authorize(t.Context(), ask(jane, "get", "n", "pods")); got != authorizer.DecisionAllow {
			t.Errorf("%s: without a selection %v", name, got)
		}
		if rules, _, incomplete, err := a.RulesFor(t.Context(), s, "n"); len(rules) > 0 || !incomplete || err == nil {
			t.Errorf("%s: rules %v, error %v", name, rules, err)
		}
	}
	resolver := Selection{}.Rules(chained(t, p.rbac, p.rbac))
	if rules, _, _, err := resolver.RulesFor(t.Context(), s, "n"); len(rules) != 1 || err != nil {
		t.Errorf("rules %v, error %v", rules, err)
	}
	if rules, _, _, err := resolver.RulesFor(t.Context(), jane, "n"); len(rules) != 3 || err != nil {
		t.Errorf("without a selection: rules %v, error %v", rules, err)
	}
}

// TestNoCredentials holds that a caller who selected a role can create no token and no
// certificate, even if the role allows everything. The caller can still read and delete requests
// for certificates.
func TestNoCredentials(t *testing.T) {
	p, _ := jane(t)
	put(t, p.clusterRoles, clusterRole("all", rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)))
	put(t, p.clusterRoleBindings, clusterBinding("all", "all", named("root")))
	root := &user.DefaultInfo{Name: "root"}
	a := New(chained(t, p.rbac, always(authorizer.DecisionAllow), p.rbac), nil, nil)
	for _, tc := range []struct {
		group, resource, subresource string
		refused                      bool
	}{
		{"", "serviceaccounts", "token", true},
		{"", "serviceaccounts", "", false},
		{"", "pods", "token", false},
		{"example.com", "serviceaccounts", "token", false},
		{"certificates.k8s.io", "certificatesigningrequests", "", true},
		{"certificates.k8s.io", "podcertificaterequests", "", true},
		{"certificates.k8s.io", "certificatesigningrequests", "approval", false},
		{"example.com", "certificatesigningrequests", "", false},
	} {
		for _, verb := range []string{"create", "update", "patch", "granular", "*", "get", "delete"} {
			q := &authorizer.AttributesRecord{User: selecting(t, root, selection.ClusterRole("all")), Verb: verb,
				Namespace: "n", APIGroup: tc.group, Resource: tc.resource, Subresource: tc.subresource,
				ResourceRequest: true}
			want := authorizer.DecisionAllow
			if tc.refused && verb != "get" && verb != "delete" {
				want = authorizer.DecisionDeny
			}
			if got, reason, _ := a.Authorize(t.Context(), q); got != want {
				t.Errorf("%+v, %s: %v, %s", tc, verb, got, reason)
			}
			q.User = root
			if got, _, _ := a.Authorize(t.Context(), q); got != authorizer.DecisionAllow {
				t.Errorf("%+v, %s, without a selection: %v", tc, verb, got)
			}
		}
	}
}

// TestUnrestricted holds that requests for discovery and health, and reviews of the caller
// itself, are authorized as if nothing was selected, and that no other request is.
func TestUnrestricted(t *testing.T) {
	p, jane := jane(t)
	a := New(chained(t, p.rbac, p.rbac, always(authorizer.DecisionAllow)), nil, nil)
	for path, ambient := range map[string]bool{
		"/api": true, "/api/v1": true, "/apis/": true, "/openapi/v3": true, "/version": true, "/healthz/etcd": true, "/livez": true, "/readyz": true,
		"/": false, "/metrics": false, "/logs": false, "/apisx": false, "/versions": false, "/debug/pprof": false,
	} {
		for _, as := range []user.Info{selecting(t, jane, selection.ClusterRole("view")), told(t, jane, selection.ClusterRole("view"))} {
			for verb, read := range map[string]bool{"get": true, "head": true, "post": false} {
				got, _, _ := a.Authorize(t.Context(), &authorizer.AttributesRecord{User: as, Verb: verb, Path: path})
				if (got == authorizer.DecisionAllow) != (ambient && read) {
					t.Errorf("%s %s: %v", verb, path, got)
				}
			}
		}
	}
	for resource, ambient := range map[string]bool{"selfsubjectaccessreviews": true, "selfsubjectrulesreviews": true, "subjectaccessreviews": false, "localsubjectaccessreviews": false} {
		for verb, creates := range map[string]bool{"create": true, "get": false, "granular": false} {
			q := &authorizer.AttributesRecord{User: selecting(t, jane, selection.ClusterRole("view")), Verb: verb,
				APIGroup: "authorization.k8s.io", Resource: resource, ResourceRequest: true}
			if got, _, _ := a.Authorize(t.Context(), q); (got == authorizer.DecisionAllow) != (ambient && creates) {
				t.Errorf("%s %s: %v", verb, resource, got)
			}
			q.APIGroup = "example.com"
			if got, _, _ := a.Authorize(t.Context(), q); got == authorizer.DecisionAllow {
				t.Errorf("%s %s of another group: %v", verb, resource, got)
			}
		}
	}
	// A resource request is restricted even if its path is below a public one.
	if got, _, _ := a.Authorize(t.Context(), &authorizer.AttributesRecord{User: selecting(t, jane, selection.ClusterRole("view")), Verb: "get", Path: "/api/v1/namespaces/n/secrets", ResourceRequest: true, Resource: "secrets", Namespace: "n"}); got == authorizer.DecisionAllow {
		t.Error("a resource was read")
	}
}

// TestUnreadable holds that a user whose extra attribute with the selection can't be read is not
// allowed anything.
func TestUnreadable(t *testing.T) {
	p, _ := jane(t)
	a := New(chained(t, p.rbac, p.rbac), nil, nil)
	for _, values := range [][]string{{}, nil, {"x"}, {view, view}, {`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`}} {
		u := &user.DefaultInfo{Name: "jane", Groups: []string{"system:masters"}, Extra: extra(values...)}
		if got, reason, err := a.Authorize(t.Context(), ask(u, "get", "n", "pods")); got != authorizer.DecisionDeny || reason == "" || err != nil {
			t.Errorf("%q: %v, %s, error %v", values, got, reason, err)
		}
		if rules, err := p.resolver.RulesFor(t.Context(), u, "n"); len(rules) > 0 || err == nil {
			t.Errorf("%q: rules %v, error %v", values, rules, err)
		}
		if rules, _, _, err := a.RulesFor(t.Context(), u, "n"); len(rules) > 0 || err == nil {
			t.Errorf("%q: rules %v, error %v", values, rules, err)
		}
	}
}
