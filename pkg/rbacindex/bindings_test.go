// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// policy is RBAC over the stores of informers that are not started: only the test puts objects
// into them.
type policy struct {
	bindings, clusterBindings, roles, clusterRoles cache.SharedIndexInformer
	// plain is RBAC as upstream has it. narrow reads bindings and roles through this package.
	plain, narrow *rbac.RBACAuthorizer
}

func newPolicy() *policy {
	v1 := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Rbac().V1()
	p := &policy{
		bindings: v1.RoleBindings().Informer(), clusterBindings: v1.ClusterRoleBindings().Informer(),
		roles: v1.Roles().Informer(), clusterRoles: v1.ClusterRoles().Informer(),
	}
	roles, clusterRoles := &rbac.RoleGetter{Lister: v1.Roles().Lister()}, &rbac.ClusterRoleGetter{Lister: v1.ClusterRoles().Lister()}
	all, allCluster := &rbac.RoleBindingLister{Lister: v1.RoleBindings().Lister()}, &rbac.ClusterRoleBindingLister{Lister: v1.ClusterRoleBindings().Lister()}
	p.plain = rbac.New(roles, all, clusterRoles, allCluster)
	p.narrow = rbac.New(Listers{}.Roles(p.roles, roles), Listers{}.Role(p.bindings, all), Listers{}.ClusterRoles(p.clusterRoles, clusterRoles), Listers{}.ClusterRole(p.clusterBindings, allCluster))
	return p
}

func put(t testing.TB, informer cache.SharedIndexInformer, object runtime.Object) {
	t.Helper()
	if err := informer.GetStore().Update(object); err != nil {
		t.Fatal(err)
	}
}

func binding(namespace, name, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Subjects:   subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
}

func clusterBinding(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
}

func clusterRole(name string, verbs ...string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"*"}}},
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func anySubject(r *rand.Rand) rbacv1.Subject {
	return rbacv1.Subject{
		Kind:      pick(r, rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind, "Other"),
		Name:      pick(r, "jane", "joe", "group/jane", "system:serviceaccount:a:joe", "system:serviceaccount:b:jane", ""),
		Namespace: pick(r, "", "", "a", "b"),
	}
}

func anyCaller(r *rand.Rand) *user.DefaultInfo {
	out := &user.DefaultInfo{Name: pick(r, "jane", "joe", "group/jane", "system:serviceaccount:a:joe", "system:serviceaccount:b:jane", "system:serviceaccount:a:", "")}
	for range r.IntN(4) {
		out.Groups = append(out.Groups, pick(r, "jane", "joe", "group/jane", "system:serviceaccount:a:joe", ""))
	}
	if r.IntN(20) == 0 {
		for i := range maxGroups {
			out.Groups = append(out.Groups, fmt.Sprintf("g%d", i))
		}
	}
	return out
}

// asks returns the attributes of a request by a user for the resource things.
func asks(who user.Info) upstream.AttributesRecord {
	return upstream.AttributesRecord{User: who, Namespace: "a", APIGroup: "example.com", Resource: "things",
		ResourceRequest: true}
}

// parts returns the reason of a decision with its parts sorted, because a store returns bindings
// in any order.
func parts(reason string) string {
	out := strings.Split(strings.Trim(strings.TrimPrefix(reason, "RBAC: "), "[]"), ", ")
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// ruled returns the verbs, each once, of the caller's rules for the resource of a request, and
// whether resolving the rules failed.
func ruled(ctx context.Context, a *rbac.RBACAuthorizer, question upstream.AttributesRecord) (verbs []string, failed bool) {
	rules, _, _, err := a.RulesFor(ctx, question.User, question.Namespace)
	for _, rule := range rules {
		question.Verb = rule.GetVerbs()[0]
		if rbac.RuleAllows(question, &rbacv1.PolicyRule{Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources()}) {
			verbs = append(verbs, rule.GetVerbs()...)
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs), err != nil
}

// TestSameAsAll holds that RBAC decides the same with and without a context from For, for random
// callers, bindings and namespaces, while bindings are added, changed and removed.
func TestSameAsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	allowed, refused := 0, 0
	for range 300 {
		p := newPolicy()
		for i := range 6 {
			// Bindings refer to nine roles, but only six exist. RBAC reports each missing role
			// as an error.
			role := clusterRole(fmt.Sprintf("r%d", i), fmt.Sprintf("v%d", i/2))
			role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}})
			role.Rules[0].APIGroups = []string{pick(r, "*", "*", "*", "example.com", "example.com", "other.com")}
			role.Rules[0].Resources = []string{pick(r, "*", "*", "*", "*", "things", "things/status", "*/status", "others")}
			put(t, p.clusterRoles, role)
			for _, namespace := range []string{"a", "b"} {
				put(t, p.roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name}, Rules: role.Rules[r.IntN(2):]})
			}
		}
		for range 60 {
			role := fmt.Sprintf("r%d", r.IntN(9))
			subjects := []rbacv1.Subject{anySubject(r), anySubject(r)}[:r.IntN(3)]
			if r.IntN(20) == 0 {
				subjects = append(make([]rbacv1.Subject, maxSubjects-1), subjects...)
			}
			name := fmt.Sprintf("b%d", r.IntN(8))
			switch r.IntN(4) {
			case 0:
				put(t, p.clusterBindings, clusterBinding(name, role, subjects...))
			case 1:
				if err := p.bindings.GetStore().Delete(binding(pick(r, "a", "b"), name, role)); err != nil {
					t.Fatal(err)
				}
			default:
				b := binding(pick(r, "a", "b"), name, role, subjects...)
				b.RoleRef.Kind = pick(r, "Role", "ClusterRole")
				put(t, p.bindings, b)
			}
			caller, namespace, verb := anyCaller(r), pick(r, "a", "b", ""), fmt.Sprintf("v%d", r.IntN(3))
			ctx := context.Background()
			question := asks(caller)
			question.Verb, question.Namespace, question.Subresource = verb, namespace, pick(r, "", "", "", "status", "scale")
			want, wantReason, _ := p.plain.Authorize(ctx, question)
			got, gotReason, _ := p.narrow.Authorize(For(ctx, question), question)
			if got != want || want != upstream.DecisionAllow && parts(gotReason) != parts(wantReason) {
				t.Logf("for the reason %q, by all bindings %q", gotReason, wantReason)
				t.Fatalf("%+v in %q, %s: %v, by all bindings %v\n%v\n%v", caller, namespace, verb, got, want, p.bindings.GetStore().List(), p.clusterBindings.GetStore().List())
			}
			if want == upstream.DecisionAllow {
				allowed++
			} else {
				refused++
			}
			under, _ := ForSeveral(ctx, question)
			for _, verb := range []string{"v0", "v1", "v2", "v0"} {
				question.Verb = verb
				want, _, _ := p.plain.Authorize(ctx, question)
				if got, _, _ := p.narrow.Authorize(under, question); got != want {
					t.Fatalf("%+v in %q, one of several questions, %s: %v, by all bindings %v", caller, namespace, verb, got, want)
				}
			}
			wantRules, wantFailed := ruled(ctx, p.plain, question)
			gotRules, gotFailed := ruled(under, p.narrow, question)
			if !slices.Equal(gotRules, wantRules) || gotFailed != wantFailed {
				t.Fatalf("%+v in %q: rules %q, failed %t; by all bindings %q, %t", caller, namespace, gotRules, gotFailed, wantRules, wantFailed)
			}
			if gotRules, gotFailed := ruled(For(ctx, question), p.narrow, question); !slices.Equal(gotRules, wantRules) || gotFailed != wantFailed {
				t.Fatalf("%+v in %q: rules %q, failed %t as the only question; by all bindings %q, %t", caller, namespace, gotRules, gotFailed, wantRules, wantFailed)
			}
		}
	}
	if min(allowed, refused) < 1000 {
		t.Errorf("%d were allowed and %d refused, the cases are lopsided", allowed, refused)
	}
}

var jane = rbacv1.Subject{Kind: rbacv1.UserKind, Name: "jane"}

// TestOnlyUnderFor holds that without a context from For, all bindings are listed and no index
// is created. A context that is derived from one of For still carries its query, so that an
// authorizer may add a deadline.
func TestOnlyUnderFor(t *testing.T) {
	p := newPolicy()
	put(t, p.bindings, binding("a", "janes", "r", jane))
	put(t, p.bindings, binding("a", "joes", "r", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "joe"}))
	lister := Listers{}.Role(p.bindings, all{p.bindings.GetStore()})
	type key struct{}
	under := For(context.Background(), asks(&user.DefaultInfo{Name: "jane"}))
	path := asks(&user.DefaultInfo{Name: "jane"})
	path.ResourceRequest = false
	for _, tc := range []struct {
		name          string
		ctx           context.Context
		want, indexes int
	}{
		{"any context", context.Background(), 2, 1},
		{"for nobody", For(context.Background(), asks(nil)), 2, 1},
		{"for no resource", For(context.Background(), path), 2, 1},
		{"under For", under, 1, 2},
		{"made of one under For", context.WithValue(under, key{}, "v"), 1, 2},
		{"any context, once there is an index", context.Background(), 2, 2},
	} {
		got, err := lister.ListRoleBindings(tc.ctx, "a")
		if err != nil || len(got) != tc.want {
			t.Errorf("%s: %d bindings and %v, wanted %d", tc.name, len(got), err, tc.want)
		}
		if got := len(p.bindings.GetIndexer().GetIndexers()); got != tc.indexes {
			t.Errorf("%s: %d indexes, wanted %d", tc.name, got, tc.indexes)
		}
	}
}

// TestSilentRoles checks when a getter leaves out the rules of a role without a rule for the
// resource of the request, and when it returns the whole role.
func TestSilentRoles(t *testing.T) {
	p := newPolicy()
	others := clusterRole("others", "v")
	others.Rules[0].Resources = []string{"others"}
	put(t, p.clusterRoles, others)
	put(t, p.roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "things"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"v"}, APIGroups: []string{"*"}, Resources: []string{"others"}},
		{Verbs: []string{"v"}, APIGroups: []string{"example.com"}, Resources: []string{"things"}},
	}})
	put(t, p.roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "others"}, Rules: others.Rules})
	roles := Listers{}.Roles(p.roles, &rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(p.roles.GetIndexer())})
	clusterRoles := Listers{}.ClusterRoles(p.clusterRoles, &rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(p.clusterRoles.GetIndexer())})
	type key struct{}
	under := For(context.Background(), asks(&user.DefaultInfo{Name: "jane"}))
	for _, tc := range []struct {
		name         string
		ctx          context.Context
		things, none int
	}{
		{"any context", context.Background(), 2, 1},
		{"under For", under, 2, 0},
		{"made of one under For", context.WithValue(under, key{}, "v"), 2, 0},
		{"whole", WithAllRules(under), 2, 1},
		{"whole of any context", WithAllRules(context.Background()), 2, 1},
		{"For of a whole one", For(WithAllRules(under), asks(&user.DefaultInfo{Name: "jane"})), 2, 0},
	} {
		role, err := roles.GetRole(tc.ctx, "a", "things")
		if err != nil || len(role.Rules) != tc.things {
			t.Errorf("%s: a role with %d rules and %v, wanted %d", tc.name, len(role.Rules), err, tc.things)
		}
		if role, err := roles.GetRole(tc.ctx, "a", "others"); err != nil || len(role.Rules) != tc.none {
			t.Errorf("%s: a silent role with %d rules and %v, wanted %d", tc.name, len(role.Rules), err, tc.none)
		}
		clusterRole, err := clusterRoles.GetClusterRole(tc.ctx, "others")
		if err != nil || len(clusterRole.Rules) != tc.none {
			t.Errorf("%s: a cluster role with %d rules and %v, wanted %d", tc.name, len(clusterRole.Rules), err, tc.none)
		}
		if _, err := roles.GetRole(tc.ctx, "a", "missing"); !apierrors.IsNotFound(err) {
			t.Errorf("%s: a missing role: %v", tc.name, err)
		}
	}
}

// all lists all bindings of a store, as upstream's listers do.
type all struct{ store cache.Store }

func (l all) ListRoleBindings(context.Context, string) ([]*rbacv1.RoleBinding, error) {
	var out []*rbacv1.RoleBinding
	for _, object := range l.store.List() {
		out = append(out, object.(*rbacv1.RoleBinding))
	}
	return out, nil
}

// TestWithoutIndex holds that all bindings are listed if the index can't be added to the
// informer.
func TestWithoutIndex(t *testing.T) {
	p := newPolicy()
	put(t, p.bindings, binding("a", "joes", "r", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "joe"}))
	taken := cache.Indexers{indexName: func(any) ([]string, error) { return nil, nil }}
	if err := p.bindings.AddIndexers(taken); err != nil {
		t.Fatal(err)
	}
	lister := Listers{}.Role(p.bindings, all{p.bindings.GetStore()})
	got, err := lister.ListRoleBindings(For(context.Background(), asks(&user.DefaultInfo{Name: "jane"})), "a")
	if err != nil || len(got) != 1 {
		t.Errorf("%d bindings and %v, wanted all", len(got), err)
	}
}

// TestOtherNamespace holds that listers and getters return everything for a namespace other than
// that of the request, also between several checks of one request.
func TestOtherNamespace(t *testing.T) {
	p := newPolicy()
	for _, namespace := range []string{"a", "b"} {
		put(t, p.bindings, binding(namespace, "joes", "r", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "joe"}))
		put(t, p.roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r"}, Rules: clusterRole("", "of-"+namespace).Rules})
	}
	lister := Listers{}.Role(p.bindings, all{p.bindings.GetStore()})
	roles := Listers{}.Roles(p.roles, &rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(p.roles.GetIndexer())})
	under, _ := ForSeveral(context.Background(), asks(&user.DefaultInfo{Name: "jane"}))
	for range 3 {
		for namespace, want := range map[string]int{"a": 0, "b": 2, "": 2} {
			if got, err := lister.ListRoleBindings(under, namespace); err != nil || len(got) != want {
				t.Errorf("%q: %d bindings and %v, wanted %d", namespace, len(got), err, want)
			}
		}
		everywhere := asks(&user.DefaultInfo{Name: "jane"})
		everywhere.Namespace = ""
		underEverywhere, _ := ForSeveral(context.Background(), everywhere)
		if got, err := lister.ListRoleBindings(underEverywhere, ""); err != nil || len(got) != 2 {
			t.Errorf("%d bindings and %v of a question about no namespace, wanted all", len(got), err)
		}
		for _, namespace := range []string{"a", "b"} {
			if got, err := roles.GetRole(under, namespace, "r"); err != nil || got.Rules[0].Verbs[0] != "of-"+namespace {
				t.Errorf("%q: %v and %v", namespace, got, err)
			}
		}
	}
}

// TestOfTheNamespace holds that a lookup returns no bindings of another namespace, even if
// namespace and group are chosen so that their keys are equal. RBAC itself does not check the
// namespace of the bindings that a lister returns.
func TestOfTheNamespace(t *testing.T) {
	p := newPolicy()
	put(t, p.bindings, binding("a", "b", "r", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "x/group/y"}))
	lister := Listers{}.Role(p.bindings, all{p.bindings.GetStore()})
	under := func(namespace, group string) context.Context {
		question := asks(&user.DefaultInfo{Groups: []string{group}})
		question.Namespace = namespace
		return For(context.Background(), question)
	}
	got, err := lister.ListRoleBindings(under("a/group/x", "y"), "a/group/x")
	if err != nil || len(got) != 0 {
		t.Errorf("%d bindings of another namespace, %v", len(got), err)
	}
	got, err = lister.ListRoleBindings(under("a", "x/group/y"), "a")
	if err != nil || len(got) != 1 {
		t.Errorf("%d bindings of the namespace, %v", len(got), err)
	}
}
