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

// lookedInto is an informer that says when it was looked into.
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

// inTurn is the subjects of a binding that is jane's by her group and by her name in turn.
var inTurn = []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "g"}, jane}

// TestMovedBetweenLooks holds that a binding which moves from a group of the caller's to
// the caller, after the caller was looked for by name and before by group, is not missed,
// in whatever way an informer notes it; nor if it moves every time.
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
					subject := inTurn[0] // the next look by name will miss it again
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

// TestGoneBetweenLooks holds that what all goes between two looks is either listed or not,
// and no mistake: there was a moment for both. It is not kept for later.
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

// TestMovedAtTheSameTime holds that a caller who is bound all the time, by one subject or
// another, is never refused.
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

// counting lists all of a store and says how often.
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
