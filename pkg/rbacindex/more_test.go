// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// counted returns RBAC that reads through this package, and a count of its lookups by kind of
// object.
func counted(p *policy) (authorizer *rbac.RBACAuthorizer, looks map[string]int) {
	looks = map[string]int{}
	look := func(what string) { looks[what]++ }
	return rbac.New(
		Listers{}.Roles(p.roles, countedRoles{p.roles.GetIndexer(), look}),
		Listers{}.Role(lookedInto{p.bindings, func(string) { look("bindings") }}, nil),
		Listers{}.ClusterRoles(p.clusterRoles, countedClusterRoles{p.clusterRoles.GetIndexer(), look}),
		Listers{}.ClusterRole(lookedInto{p.clusterBindings, func(string) { look("cluster bindings") }}, nil),
	), looks
}

type countedRoles struct {
	store cache.Store
	look  func(what string)
}

func (c countedRoles) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	c.look("roles")
	return got[*rbacv1.Role](c.store, namespace+"/"+name)
}

type countedClusterRoles countedRoles

func (c countedClusterRoles) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	c.look("cluster roles")
	return got[*rbacv1.ClusterRole](c.store, name)
}

func got[T any](store cache.Store, key string) (role T, err error) {
	object, ok, err := store.GetByKey(key)
	if err != nil || !ok {
		return role, fmt.Errorf("%s: %v", key, err)
	}
	return object.(T), nil
}

func role(namespace, name, verb string) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Rules: clusterRole("", verb).Rules}
}

func toRole(b *rbacv1.RoleBinding) *rbacv1.RoleBinding {
	b.RoleRef.Kind = "Role"
	return b
}

// TestForMore holds that cached bindings and roles are not looked up again while nothing has
// changed, and that every change since then is seen, whether it takes permissions away or gives
// them, and however the informer's store records the change.
func TestForMore(t *testing.T) {
	// before sets up the first state, in one of two ways: jane may use the verb v by a
	// cluster-wide binding, or by one in the namespace.
	before := map[string]func(p *policy){
		"cluster-wide": func(p *policy) {
			hold(t, p.clusterRoles, clusterRole("r", "v"))
			hold(t, p.clusterBindings, clusterBinding("b", "r", jane))
		},
		"in the namespace": func(p *policy) {
			hold(t, p.roles, role("a", "r", "v"))
			hold(t, p.bindings, toRole(binding("a", "b", "r", jane)))
		},
	}
	type way = func(store cache.Store, object runtime.Object, stays bool) error
	ways := map[string]way{
		"one by one": func(store cache.Store, object runtime.Object, stays bool) error {
			if stays {
				return store.Update(object)
			}
			return store.Delete(object)
		},
		"all at once": func(store cache.Store, object runtime.Object, stays bool) error {
			if stays {
				return store.Replace([]any{object}, "2")
			}
			return store.Replace(nil, "2")
		},
		"in a batch": func(store cache.Store, object runtime.Object, stays bool) error {
			kind := cache.TransactionTypeDelete
			if stays {
				kind = cache.TransactionTypeUpdate
			}
			if err := store.(cache.TransactionStore).Transaction(cache.Transaction{Type: kind, Object: object}); err != nil {
				return err
			}
			return nil
		},
	}
	joe := rbacv1.Subject{Kind: rbacv1.UserKind, Name: "joe"}
	changes := []struct {
		name, where, what string
		object            runtime.Object
		stays             bool
	}{
		{"a binding goes", "in the namespace", "bindings", toRole(binding("a", "b", "r", jane)), false},
		{"a binding names another", "in the namespace", "bindings", toRole(binding("a", "b", "r", joe)), true},
		{"a role goes", "in the namespace", "roles", role("a", "r", "v"), false},
		{"a role says something else", "in the namespace", "roles", role("a", "r", "other"), true},
		{"a cluster role binding goes", "cluster-wide", "cluster bindings", clusterBinding("b", "r", jane), false},
		{"a cluster role binding names another", "cluster-wide", "cluster bindings", clusterBinding("b", "r", joe),
			true},
		{"a cluster role goes", "cluster-wide", "cluster roles", clusterRole("r", "v"), false},
		{"a cluster role says something else", "cluster-wide", "cluster roles", clusterRole("r", "other"), true},
	}
	for _, c := range changes {
		for way, change := range ways {
			t.Run(c.name+", "+way, func(t *testing.T) {
				p := newPolicy()
				before[c.where](p)
				store := map[string]cache.SharedIndexInformer{
					"bindings": p.bindings, "cluster bindings": p.clusterBindings, "roles": p.roles, "cluster roles": p.clusterRoles,
				}[c.what].GetStore()
				authorizer, looks := counted(p)
				question := asks(&user.DefaultInfo{Name: "jane"})
				question.Verb = "v"
				under, query := ForSeveral(context.Background(), &question)
				// later makes two more checks with ForMore, and returns how many lookups they
				// needed of the kind of object that changes.
				later := func(want upstream.Decision) int {
					t.Helper()
					clear(looks)
					under, query = ForMore(context.Background(), &question, query)
					for range 2 {
						if got, reason, _ := authorizer.Authorize(under, question); got != want {
							t.Fatalf("%v for %q, wanted %v", got, reason, want)
						}
					}
					return looks[c.what]
				}
				if n := later(upstream.DecisionAllow); n != 1 {
					t.Errorf("looked %d times at first", n)
				}
				if later(upstream.DecisionAllow); len(looks) != 0 {
					t.Errorf("looked for %v although nothing changed", looks)
				}
				if err := change(store, c.object, c.stays); err != nil {
					t.Fatal(err)
				}
				if n := later(upstream.DecisionNoOpinion); n == 0 && !c.stays {
					t.Error("did not look for what changed")
				}
				before[c.where](p)
				later(upstream.DecisionAllow)
				p.clear(t) // removes all objects without incrementing the change counter
				if later(upstream.DecisionNoOpinion); len(looks) == 0 {
					t.Error("did not look although all is gone")
				}
				before[c.where](p)
				if n := later(upstream.DecisionAllow); n != 1 {
					t.Errorf("looked %d times when all was there again", n)
				}
			})
		}
	}
}

// hold replaces the objects of an informer's store by one object, at version 1.
func hold(t *testing.T, informer cache.SharedIndexInformer, object runtime.Object) {
	t.Helper()
	if err := informer.GetStore().Replace([]any{object}, "1"); err != nil {
		t.Fatal(err)
	}
}

// clear removes all objects of all informers.
func (p *policy) clear(t *testing.T) {
	for i, informer := range []cache.SharedIndexInformer{p.bindings, p.clusterBindings, p.roles, p.clusterRoles} {
		if err := informer.GetStore().Replace(nil, fmt.Sprint("cleared-", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForMoreOfAnother holds that ForMore uses the cache of an earlier query only for the same
// request, and that the context it returns is derived from its own argument.
func TestForMoreOfAnother(t *testing.T) {
	janes := &user.DefaultInfo{Name: "jane"}
	of := func(change func(a *upstream.AttributesRecord)) upstream.Attributes {
		a := asks(janes)
		a.Verb = "v"
		change(&a)
		return &a
	}
	same := of(func(*upstream.AttributesRecord) {})
	byValue := *same.(*upstream.AttributesRecord)
	for name, tc := range map[string]struct {
		earlier func(ctx context.Context) (context.Context, *Query)
		about   upstream.Attributes
		taken   bool
	}{
		"the same":          {about: same, taken: true},
		"another verb":      {about: of(func(a *upstream.AttributesRecord) { a.Verb = "w" })},
		"another caller":    {about: of(func(a *upstream.AttributesRecord) { a.User = &user.DefaultInfo{Name: "joe"} })},
		"another namespace": {about: of(func(a *upstream.AttributesRecord) { a.Namespace = "b" })},
		"another resource":  {about: of(func(a *upstream.AttributesRecord) { a.Resource = "others" })},
		"nobody":            {about: of(func(a *upstream.AttributesRecord) { a.User = nil })},
		"no resource":       {about: of(func(a *upstream.AttributesRecord) { a.ResourceRequest = false })},
		"another like it":   {about: of(func(*upstream.AttributesRecord) {})},
		"one by value":      {about: byValue},
		"two by value": {about: byValue,
			earlier: func(ctx context.Context) (context.Context, *Query) { return ForSeveral(ctx, byValue) }},
		"of another sort": {about: odd{same, nil},
			earlier: func(ctx context.Context) (context.Context, *Query) { return ForSeveral(ctx, odd{same, nil}) }},
		"after For": {about: same, earlier: func(ctx context.Context) (context.Context, *Query) {
			under := For(ctx, same)
			return under, queryFrom(under)
		}},
		"after nothing": {about: same, earlier: func(context.Context) (context.Context, *Query) { return nil, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolicy()
			put(t, p.clusterRoles, clusterRole("r", "v"))
			put(t, p.clusterBindings, clusterBinding("b", "r", jane))
			authorizer, looks := counted(p)
			asking, earlier := ForSeveral(context.Background(), same)
			if tc.earlier != nil {
				asking, earlier = tc.earlier(context.Background())
			}
			if earlier != nil {
				if got, _, _ := authorizer.Authorize(asking, same); got != upstream.DecisionAllow {
					t.Fatal("refused")
				}
			}
			type key struct{}
			ctx := context.WithValue(context.Background(), key{}, "v")
			under, _ := ForMore(ctx, tc.about, earlier)
			if under.Value(key{}) != "v" {
				t.Error("it is another context")
			}
			if tc.about.GetUser() == nil || !tc.about.IsResourceRequest() {
				if under != ctx {
					t.Error("somebody is looked for")
				}
				return
			}
			want, _, _ := p.plain.Authorize(ctx, tc.about)
			clear(looks)
			got, _, _ := authorizer.Authorize(under, tc.about)
			if got != want || (looks["cluster bindings"] == 0) != tc.taken {
				t.Errorf("%v after looks for %v, wanted %v", got, looks, want)
			}
			clear(looks)
			if got, _, _ := authorizer.Authorize(under, tc.about); got != want || len(looks) > 0 {
				t.Errorf("%v after looks for %v the second time, wanted %v", got, looks, want)
			}
		})
	}
}

// odd is a type of attributes whose values can't be compared with ==.
type odd struct {
	upstream.Attributes
	_ []string
}

// TestRolesOfTwoMoments holds that if a role changed between the reads of two cached roles,
// ForMore reads both again.
func TestRolesOfTwoMoments(t *testing.T) {
	p := newPolicy()
	roles := Listers{}.ClusterRoles(p.clusterRoles, &rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(p.clusterRoles.GetIndexer())})
	question := asks(&user.DefaultInfo{Name: "jane"})
	under, query := ForSeveral(context.Background(), &question)
	verb := func(name string) string {
		t.Helper()
		role, err := roles.GetClusterRole(under, name)
		if err != nil {
			t.Fatal(err)
		}
		return role.Rules[0].Verbs[0]
	}
	put(t, p.clusterRoles, clusterRole("first", "before"))
	put(t, p.clusterRoles, clusterRole("second", "before"))
	verb("first")
	put(t, p.clusterRoles, clusterRole("first", "after"))
	verb("second")
	under, _ = ForMore(context.Background(), &question, query)
	if got := verb("first"); got != "after" {
		t.Errorf("the role is that of %s the change", got)
	}
}

// TestForMoreApart holds that of several calls of ForMore with the same earlier query, one gets
// its cache, and the others look bindings and roles up again. The race detector finds further
// mistakes.
func TestForMoreApart(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("r", "v"))
	put(t, p.clusterBindings, clusterBinding("b", "r", jane))
	question := asks(&user.DefaultInfo{Name: "jane"})
	question.Verb = "v"
	asking, earlier := ForSeveral(context.Background(), &question)
	if got, _, _ := p.narrow.Authorize(asking, question); got != upstream.DecisionAllow {
		t.Fatal("refused")
	}
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			under, query := ForMore(context.Background(), &question, earlier)
			if query.cache == earlier.cache {
				taken.Add(1)
			}
			for range 2 {
				if got, _, _ := p.narrow.Authorize(under, question); got != upstream.DecisionAllow {
					t.Error("refused")
				}
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 {
		t.Errorf("taken by %d", taken.Load())
	}
	if _, query := ForMore(context.Background(), &question, earlier); query.cache == earlier.cache {
		t.Error("taken once more, later")
	}
}

// TestForMoreUnwatched holds that nothing is cached for informers whose changes can't be
// counted.
func TestForMoreUnwatched(t *testing.T) {
	p := newPolicy()
	for _, informer := range []cache.SharedIndexInformer{p.bindings, p.clusterBindings, p.roles, p.clusterRoles} {
		if err := informer.AddIndexers(cache.Indexers{indexName: func(any) ([]string, error) { return nil, nil }}); err != nil {
			t.Fatal(err)
		}
	}
	question := asks(&user.DefaultInfo{Name: "jane"})
	question.Verb = "v"
	under, query := ForSeveral(context.Background(), &question)
	for i, verb := range []string{"v", "other", "v"} {
		put(t, p.clusterRoles, clusterRole("r", verb))
		put(t, p.clusterBindings, clusterBinding("b", "r", jane))
		under, query = ForMore(context.Background(), &question, query)
		want, _, _ := p.plain.Authorize(context.Background(), question)
		if got, _, _ := p.narrow.Authorize(under, question); got != want {
			t.Errorf("%v with the role of turn %d, wanted %v", got, i, want)
		}
	}
}
