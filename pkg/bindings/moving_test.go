// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/cache"
)

// watched is an informer that says when it was looked into.
type watched struct {
	cache.SharedIndexInformer
	looked func(key string)
}

func (w watched) GetIndexer() cache.Indexer {
	return watchedIndexer{w.SharedIndexInformer.GetIndexer(), w.looked}
}

type watchedIndexer struct {
	cache.Indexer
	looked func(key string)
}

func (w watchedIndexer) ByIndex(index, key string) ([]any, error) {
	defer w.looked(key)
	return w.Indexer.ByIndex(index, key)
}

// inTurn is the subjects of a binding that is jane's by her group and by her name in turn.
var inTurn = []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "g"}, jane}

// TestMovedBetweenLooks holds that a binding which moves from a group of the caller's to
// the caller, after the caller was looked for by name and before by group, is not missed;
// nor if it moves every time.
func TestMovedBetweenLooks(t *testing.T) {
	for _, tc := range []struct {
		name         string
		moves, looks int
	}{
		{"once", 1, 4},
		{"twice", 2, 6},
		{"every time", 10, 2 * looks},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPolicy()
			put(t, p.bindings, binding("a", "b", "r", inTurn[0]))
			moved, looked := 0, 0
			lister := Listers{}.Role(watched{p.bindings, func(string) {
				if looked++; looked%2 == 1 && moved < tc.moves {
					moved++
					put(t, p.bindings, binding("a", "b", "r", inTurn[1]))
				} else if moved < tc.moves {
					// The next look by name will miss it again.
					put(t, p.bindings, binding("a", "b", "r", inTurn[0]))
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

// TestMovedAtTheSameTime holds that a caller who is bound all the time, by one subject or
// another, is never refused.
func TestMovedAtTheSameTime(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("r", "v"))
	put(t, p.clusterBindings, clusterBinding("b", "r", inTurn[0]))
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
	for range 20000 {
		if decision, _, _ := p.narrow.Authorize(For(context.Background(), question), question); decision != upstream.DecisionAllow {
			t.Error("refused")
			break
		}
	}
	close(done)
	writer.Wait()
}
