// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"errors"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// lookedInto is an informer that calls looked after each lookup in an index.
type lookedInto struct {
	cache.SharedIndexInformer
	looked func(key string)
}

func (w lookedInto) GetIndexer() cache.Indexer {
	return lookedIntoIndexer{w.SharedIndexInformer.GetIndexer(), w.looked}
}

type lookedIntoIndexer struct {
	cache.Indexer
	looked func(key string)
}

func (w lookedIntoIndexer) ByIndex(index, key string) ([]any, error) {
	defer w.looked(key)
	return w.Indexer.ByIndex(index, key)
}

// inTurn are two subjects, of which a binding has one at a time. Both match jane: the first by
// her group, the second by her name.
var inTurn = []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "g"}, jane}

// TestMovedBetweenLooks holds that a lookup does not miss a binding whose subject changes from
// the caller's group to the caller's name after the lookup by name and before the lookup by
// group, however the informer's store records the change, and even if the subject changes during
// every attempt.
func TestMovedBetweenLooks(t *testing.T) {
	ways := map[string]func(store cache.Store, b *rbacv1.RoleBinding) error{
		"update": func(store cache.Store, b *rbacv1.RoleBinding) error { return store.Update(b) },
		"deletion and addition": func(store cache.Store, b *rbacv1.RoleBinding) error {
			return errors.Join(store.Delete(b), store.Add(b))
		},
		"replacement": func(store cache.Store, b *rbacv1.RoleBinding) error { return store.Replace([]any{b}, "2") },
		"batch": func(store cache.Store, b *rbacv1.RoleBinding) error {
			if err := store.(cache.TransactionStore).Transaction(cache.Transaction{Type: cache.TransactionTypeUpdate, Object: b}); err != nil {
				return err
			}
			return nil
		},
	}
	for way, move := range ways {
		for _, tc := range []struct {
			name         string
			moves, looks int
		}{
			{"once", 1, 4},
			{"twice", 2, 6},
			{"every time", 10, 2 * maxAttempts},
		} {
			t.Run(way+", "+tc.name, func(t *testing.T) {
				p := newPolicy()
				put(t, p.bindings, binding("a", "b", "r", inTurn[0]))
				moved, looked := 0, 0
				lister := Listers{}.Role(lookedInto{p.bindings, func(string) {
					looked++
					if moved == tc.moves {
						return
					}
					subject := inTurn[0] // the next lookup by name will miss the binding again
					if looked%2 == 1 {
						moved++
						subject = inTurn[1]
					}
					if err := move(p.bindings.GetStore(), binding("a", "b", "r", subject)); err != nil {
						t.Error(err)
					}
				}}, all{p.bindings.GetStore()})
				question := asks(&user.DefaultInfo{Name: "jane", Groups: []string{"g"}})
				got, err := lister.ListRoleBindings(For(context.Background(), question), "a")
				if err != nil || len(got) != 1 {
					t.Errorf("%d bindings and %v, wanted one", len(got), err)
				}
				if looked != tc.looks {
					t.Errorf("looked %d times, wanted %d", looked, tc.looks)
				}
			})
		}
	}
}

// TestGoneBetweenLooks holds that if all bindings are removed between two lookups of one list,
// each binding is listed or missing, both of which were right at some moment. The list is not
// cached.
func TestGoneBetweenLooks(t *testing.T) {
	p := newPolicy()
	put(t, p.bindings, binding("a", "b", "r", jane))
	put(t, p.bindings, binding("a", "c", "r", inTurn[0]))
	looked := 0
	lister := Listers{}.Role(lookedInto{p.bindings, func(string) {
		if looked++; looked == 1 {
			if err := p.bindings.GetStore().Replace(nil, "2"); err != nil {
				t.Error(err)
			}
		}
	}}, all{p.bindings.GetStore()})
	question := asks(&user.DefaultInfo{Name: "jane", Groups: []string{"g"}})
	under, query := ForSeveral(context.Background(), &question)
	got, err := lister.ListRoleBindings(under, "a")
	if err != nil || len(got) != 1 || got[0].Name != "b" {
		t.Errorf("%v and %v, wanted what was there at the first look", got, err)
	}
	more, _ := ForMore(context.Background(), &question, query)
	for name, ctx := range map[string]context.Context{"For": For(context.Background(), question), "ForMore": more} {
		if got, err := lister.ListRoleBindings(ctx, "a"); err != nil || len(got) != 0 {
			t.Errorf("%s: %v and %v after all went", name, got, err)
		}
	}
}

// TestMovedAtTheSameTime holds that a caller is never refused who is bound all the time, while
// the subject of the binding alternates between the caller's group and the caller's name.
func TestMovedAtTheSameTime(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("r", "v"))
	put(t, p.clusterBindings, clusterBinding("b", "r", inTurn[0]))
	listed := 0
	authorizer := rbac.New(nil, none{}, Listers{}.ClusterRoles(p.clusterRoles, &rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(p.clusterRoles.GetIndexer())}),
		Listers{}.ClusterRole(p.clusterBindings, &counting{p.clusterBindings.GetStore(), &listed}))
	question := asks(&user.DefaultInfo{Name: "jane", Groups: []string{"g"}})
	question.Verb = "v"
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-done:
				return
			default:
				if err := p.clusterBindings.GetStore().Update(clusterBinding("b", "r", inTurn[i%2])); err != nil {
					t.Error(err)
				}
			}
		}
	})
	const times = 20000
	for range times {
		if decision, _, _ := authorizer.Authorize(For(context.Background(), question), question); decision != upstream.DecisionAllow {
			t.Error("refused")
			break
		}
	}
	close(done)
	writer.Wait()
	if listed > times*9/10 {
		t.Errorf("all bindings were listed %d times of %d", listed, times)
	}
}

type none struct{}

func (none) ListRoleBindings(context.Context, string) ([]*rbacv1.RoleBinding, error) { return nil, nil }

// counting lists all bindings of a store, and counts how often it does so.
type counting struct {
	store  cache.Store
	listed *int
}

func (c *counting) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	*c.listed++
	var out []*rbacv1.ClusterRoleBinding
	for _, object := range c.store.List() {
		out = append(out, object.(*rbacv1.ClusterRoleBinding))
	}
	return out, nil
}
