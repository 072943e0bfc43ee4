// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"errors"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"
)

var errUnreadable = errors.New("unreadable")

// unreadable is a lister of bindings that fails.
type unreadable struct{}

func (unreadable) ListRoleBindings(context.Context, string) ([]*rbacv1.RoleBinding, error) {
	return nil, errUnreadable
}

func (unreadable) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return nil, errUnreadable
}

// TestUnreadable holds that the error of listing all bindings is returned: without it, RBAC would
// take a caller for one without bindings.
func TestUnreadable(t *testing.T) {
	p := newPolicy()
	if _, err := (Listers{}).Role(p.bindings, unreadable{}).ListRoleBindings(t.Context(), "a"); !errors.Is(err, errUnreadable) {
		t.Errorf("role bindings: %v", err)
	}
	if _, err := (Listers{}).ClusterRole(p.clusterBindings, unreadable{}).ListClusterRoleBindings(t.Context()); !errors.Is(err, errUnreadable) {
		t.Errorf("cluster role bindings: %v", err)
	}
}

// brokenIndex is an informer whose index fails for some keys.
type brokenIndex struct {
	cache.SharedIndexInformer
	broken func(key string) bool
}

func (b brokenIndex) GetIndexer() cache.Indexer {
	return brokenIndexer{b.SharedIndexInformer.GetIndexer(), b.broken}
}

type brokenIndexer struct {
	cache.Indexer
	broken func(key string) bool
}

func (b brokenIndexer) ByIndex(index, key string) ([]any, error) {
	if b.broken(key) {
		return nil, errUnreadable
	}
	return b.Indexer.ByIndex(index, key)
}

// TestBrokenIndex holds that all bindings are listed if any lookup in the index fails, so that none
// is missed.
func TestBrokenIndex(t *testing.T) {
	many := subjectsOf(groups(maxSubjects + 1)...)
	for name, broken := range map[string]func(key string) bool{
		"every key":    func(string) bool { return true },
		"of the user":  func(key string) bool { return key == "a/user/jane" },
		"of a group":   func(key string) bool { return key == "a/group/g0" },
		"of the large": func(key string) bool { return key == "a/many" },
	} {
		p := newPolicy()
		put(t, p.bindings, binding("a", "b", "r", jane))
		put(t, p.bindings, binding("a", "c", "r", subjectsOf("others")...))
		put(t, p.bindings, binding("a", "d", "r", many...))
		lister := Listers{}.Role(brokenIndex{p.bindings, broken}, all{p.bindings.GetStore()})
		question := asks(&user.DefaultInfo{Name: "jane", Groups: []string{"g0"}})
		got, err := lister.ListRoleBindings(For(t.Context(), question), "a")
		if err != nil || len(got) != 3 {
			t.Errorf("%s: %d bindings, %v", name, len(got), err)
		}
	}
}

// TestWithoutQuery holds that a check of another user, in the context of a request, reads all
// bindings, and that a context without a query stays as it is.
func TestWithoutQuery(t *testing.T) {
	p := newPolicy()
	put(t, p.bindings, binding("a", "joes", "r", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "joe"}))
	lister := Listers{}.Role(p.bindings, all{p.bindings.GetStore()})
	asking := For(t.Context(), asks(&user.DefaultInfo{Name: "jane"}))
	for name, tc := range map[string]struct {
		ctx  context.Context
		want int
	}{
		"of the caller": {asking, 0}, "of another user": {WithoutQuery(asking), 1}, "of nobody": {WithoutQuery(t.Context()), 1},
	} {
		got, err := lister.ListRoleBindings(tc.ctx, "a")
		if err != nil || len(got) != tc.want {
			t.Errorf("%s: %d bindings, %v", name, len(got), err)
		}
	}
	if ctx := t.Context(); WithoutQuery(ctx) != ctx {
		t.Error("a context without a query becomes another one")
	}
}
