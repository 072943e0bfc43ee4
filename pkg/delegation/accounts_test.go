// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/flowcontrol"
	clock "k8s.io/utils/clock/testing"

	"kube-granular.dev/api/authority/v1alpha1"
)

// byRobot returns a delegation that a service account created.
func byRobot(uid string) *v1alpha1.AuthorityDelegation {
	d := toBot()
	d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: "system:serviceaccount:n:robot", UID: uid}
	return d
}

// accounts is a cluster with one service account at most, n/robot.
type accounts struct {
	known, stored types.UID
	failed        error
	reads         int
}

func (a *accounts) in(x *Index) *Accounts {
	found := NewAccounts(func(namespace, name string) types.UID {
		if namespace+"/"+name != "n/robot" {
			return ""
		}
		return a.known
	}, func(context.Context, string, string) (types.UID, error) {
		a.reads++
		if a.failed == nil && a.stored == "" {
			return "", apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "robot")
		}
		return a.stored, a.failed
	})
	x.Connect(Sources{Accounts: found})
	return found
}

// TestDelegatorGone checks that the delegation of a deleted service account allows nothing, even if
// another account has its name now, and that a new account is not taken for a deleted one.
//
// Attack: creating a service account with the name of a deleted one, to use or extend what that one delegated
// Answer: 403
func TestDelegatorGone(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	broken := errors.New("no connection")
	for name, tc := range map[string]struct {
		accounts accounts
		recorded string
		keep     bool
		want     Reason
		reads    int
	}{
		"it exists":                              {accounts{known: "u1", stored: "u1"}, "u1", false, "", 0},
		"it was deleted":                         {accounts{}, "u1", false, DelegatorGone, 1},
		"another one has its name":               {accounts{known: "u2", stored: "u2"}, "u1", false, DelegatorGone, 1},
		"the informer does not know it yet":      {accounts{stored: "u1"}, "u1", false, "", 1},
		"the informer still has the one before":  {accounts{known: "u0", stored: "u1"}, "u1", false, "", 1},
		"it can't be read":                       {accounts{failed: broken}, "u1", false, DelegatorUnknown, 3},
		"another one is known, it can't be read": {accounts{known: "u2", failed: broken}, "u1", false, DelegatorUnknown, 3},
		"no UID was recorded":                    {accounts{known: "u2", stored: "u2"}, "", false, "", 0},
		"with ifLost: Keep":                      {accounts{known: "u2", stored: "u2"}, "u1", true, "", 0},
		"with ifLost: Keep, it can't be read":    {accounts{failed: broken}, "u1", true, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := NewIndex()
			tc.accounts.in(x)
			d := byRobot(tc.recorded)
			if tc.keep {
				d.Spec.IfLost = v1alpha1.LossKeep
			}
			x.Observe(d, false)
			for range 3 {
				chain, refusal := x.Chain(t.Context(), "d", "", bot)
				if got := reasonOf(refusal); got != tc.want {
					t.Fatalf("%q, wanted %q", got, tc.want)
				}
				if got := reasonOf(chain.Commit(t.Context(), bot).Begin(nil, nil)); got != tc.want && tc.want != DelegatorUnknown {
					t.Fatalf("when the write is stored: %q, wanted %q", got, tc.want)
				}
				if got := reasonOf(chain.RecheckAll(t.Context(), bot)); got != tc.want && tc.want != DelegatorUnknown {
					t.Fatalf("for a long request: %q, wanted %q", got, tc.want)
				}
			}
			if tc.want != DelegatorUnknown && tc.accounts.reads != tc.reads {
				t.Errorf("%d reads, wanted %d", tc.accounts.reads, tc.reads)
			}
		})
	}
}

func reasonOf(r *Refusal) Reason {
	if r == nil {
		return ""
	}
	return r.Reason
}

// TestAccountReads checks that reads of accounts have a budget, that a result is remembered, and that
// an account that was found counts as existing only as long as an informer may need to learn of it.
//
// Attack: selecting delegations of deleted service accounts over and over, so that the server reads each time
// Answer: it reads once for each account, and at most a hundred times at once; beyond, the answer is 503
func TestAccountReads(t *testing.T) {
	now := clock.NewFakeClock(time.Now())
	x := NewIndex()
	cluster := &accounts{}
	a := cluster.in(x)
	a.now = now.Now
	a.readLimiter = flowcontrol.NewTokenBucketRateLimiterWithClock(readsPerSecond, readsAtOnce, now)
	ask := func(uid string) presence { return a.presenceOf(t.Context(), "system:serviceaccount:n:robot", uid) }
	for range 1000 {
		if got := ask("u1"); got != absent {
			t.Fatalf("%v, wanted absent", got)
		}
	}
	if cluster.reads != 1 {
		t.Errorf("%d reads of one account", cluster.reads)
	}
	unknowns := 0
	for i := range 1000 {
		if ask(string(rune('a'+i%26))+time.Duration(i).String()) == unknown {
			unknowns++
		}
	}
	if cluster.reads != readsAtOnce || unknowns != 1000-readsAtOnce+1 {
		t.Errorf("%d reads, %d accounts unknown", cluster.reads, unknowns)
	}
	now.Step(time.Minute)
	cluster.stored = "u3"
	if got := ask("u3"); got != present {
		t.Errorf("%v, wanted present", got)
	}
	cluster.stored = ""
	if got := ask("u3"); got != present {
		t.Errorf("a moment later: %v, wanted present", got)
	}
	now.Step(foundStays)
	if got := ask("u3"); got != absent {
		t.Errorf("after its deletion: %v, wanted absent", got)
	}
	if got := a.presenceOf(t.Context(), "alice", "u9"); got != present {
		t.Errorf("a user who is no service account: %v", got)
	}
}

// TestDelegatorOfChildGone checks that a chain ends if the service account that created one of its
// delegations was deleted. What a policy issues to a controller under another delegation does not
// depend on the controller's account.
func TestDelegatorOfChildGone(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	for byPolicy, want := range map[bool]Reason{false: DelegatorGone, true: ""} {
		x := NewIndex()
		(&accounts{}).in(x)
		parent, child := toBot(), byRobot("u1")
		parent.Name, parent.UID = "parent", "parent"
		parent.Spec.Delegates = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "robot"}}
		child.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, Name: "parent", UID: "parent"}}
		if byPolicy {
			child.Status.Cause = &v1alpha1.DelegationCause{Policy: "p"}
		}
		x.Observe(parent, false)
		x.Observe(child, false)
		if _, refusal := x.Chain(t.Context(), "d", "", bot); reasonOf(refusal) != want {
			t.Errorf("issued by a policy: %t: %v, wanted %q", byPolicy, refusal, want)
		}
		chain := x.chain("d", "")
		if chain.DelegatorGone(t.Context(), 0) || !chain.DelegatorGone(t.Context(), 1) {
			t.Errorf("issued by a policy: %t: not exactly the creator of the child is gone", byPolicy)
		}
	}
}
