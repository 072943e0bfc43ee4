// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// TestLongRequestEnds checks when a long request ends: as soon as its delegation is not valid any more, and not before: not
// while the binding of the account stays, and not while it is unknown whether the delegator exists.
func TestLongRequestEnds(t *testing.T) {
	watch := request.WithRequestInfo(t.Context(), &request.RequestInfo{Verb: "watch"})
	ends := func(t *testing.T, sel Selection, u *User, revoked *atomic.Bool, begun func()) {
		t.Helper()
		ctx, cancel := sel.untilRevoked(watch, u, false)
		defer cancel()
		begun()
		select {
		case <-ctx.Done():
			if !revoked.Load() {
				t.Error("the request ended before its delegation")
			}
		case <-time.After(time.Minute):
			t.Error("the request goes on")
		}
	}
	t.Run("bound", func(t *testing.T) {
		t.Parallel()
		w := newAgents(t, boundToD)
		_, got := w.handle(t, agentWith("account-1", ""), nil)
		var asked atomic.Int64
		var revoked atomic.Bool
		// The delegation is looked at once when the request begins, and then once in each interval.
		w.index.Connect(delegation.Sources{Namespace: func(name string) types.UID {
			if asked.Add(1) < 3 {
				return types.UID(name)
			}
			revoked.Store(true)
			return "another"
		}})
		ends(t, Selection{Delegations: w.index, Bound: w.bound}, got.(*User), &revoked, func() {})
	})
	t.Run("delegator unknown", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int64
		var revoked atomic.Bool
		x := delegation.NewIndex()
		present := atomic.Bool{}
		present.Store(true)
		x.Connect(delegation.Sources{Accounts: delegation.NewAccounts(func(string, string) types.UID {
			if present.Load() {
				return "r"
			}
			return ""
		}, func(context.Context, string, string) (types.UID, error) {
			if asked.Add(1) < 2 {
				return "", errors.New("no answer")
			}
			revoked.Store(true)
			return "", apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, "robot")
		})})
		x.Observe(byRobot("d", "1"), false)
		u, err := UserOf(&user.DefaultInfo{Name: "u", Extra: extra(`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		if _, refusal := u.Chain(watch, x); refusal != nil {
			t.Fatal(refusal)
		}
		ends(t, Selection{Delegations: x}, u, &revoked, func() { present.Store(false) })
	})
}
