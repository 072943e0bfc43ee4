// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// link is one delegation of a chain, as the model in this file describes it. The test compares
// that model with the Authorizer.
type link struct {
	delegator             user.Info
	delegates             []string
	rules                 []rbacv1.PolicyRule
	namespace             string // the whole cluster if it is empty
	keep, ended, gone     bool
	otherUID, wrongParent bool
}

func anyChain(r *rand.Rand) []link {
	var out []link
	for range pick(r, 1, 1, 2, 3, 4) {
		l := link{
			delegator: anyUser(r), delegates: some(r, "u0", "u1", "u0", "u1", "u2"), rules: append(anyRules(r), anyRules(r)...), namespace: pick(r, "", "", "n0", "n1"),
			ended: r.IntN(40) == 0, gone: r.IntN(40) == 0, otherUID: r.IntN(40) == 0, keep: len(out) == 0 && r.IntN(4) == 0,
		}
		if r.IntN(3) > 0 {
			l.rules = append(l.rules, rule([]string{"*"}, []string{"*"}, []string{"*"}, nil))
		}
		if len(out) > 0 && r.IntN(8) > 0 {
			out[len(out)-1].delegates = append(out[len(out)-1].delegates, l.delegator.GetName())
		}
		out = append(out, l)
	}
	return out
}

// stored stores the delegations of a chain in the index, and returns the name of the last one.
func stored(chain []link, x *delegation.Index) (leaf string) {
	var history []v1alpha1.ChainEntry
	for i, l := range chain {
		d := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("d%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), ResourceVersion: fmt.Sprint(i + 1)}}
		for _, name := range l.delegates {
			to := v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: name}
			if l.otherUID {
				to.UID = "other"
			}
			d.Spec.Delegates = append(d.Spec.Delegates, to)
		}
		d.Spec.Scope = v1alpha1.DelegationScope{Namespace: l.namespace, Cluster: l.namespace == ""}
		d.Spec.IfLost = v1alpha1.LossWithdraw
		if l.keep {
			d.Spec.IfLost = v1alpha1.LossKeep
		}
		if l.ended {
			d.Status.ExpirationTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		d.Status.Rules, d.Status.NamespaceUID, d.Status.History = l.rules, types.UID(l.namespace), slices.Clone(history)
		d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: l.delegator.GetName(),
			Groups: l.delegator.GetGroups()}
		history = append(history, v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, By: l.delegator.GetName(), Name: d.Name, UID: d.UID})
		x.Observe(d, false)
		if l.gone {
			x.Observe(d, true)
		}
		leaf = d.Name
	}
	return leaf
}

// ordinary returns the ordinary requests, update and patch, that together include a request with
// a granular verb. It returns nil if none include it.
func ordinary(q *authorizer.AttributesRecord) []*authorizer.AttributesRecord {
	if !strings.HasPrefix(q.Verb, "granular") || !q.ResourceRequest || q.Resource == "pods" && q.Subresource != "" || q.Resource == "serviceaccounts" {
		return nil
	}
	update, patch := *q, *q
	update.Verb, patch.Verb = "update", "patch"
	return []*authorizer.AttributesRecord{&update, &patch}
}

func (l *link) allows(q *authorizer.AttributesRecord, leaf bool) bool {
	if l.namespace != "" && (l.namespace != q.Namespace || !q.ResourceRequest) {
		return false
	}
	if allow(l.rules, q) {
		return true
	}
	other := ordinary(q)
	return !leaf && len(other) == 2 && allow(l.rules, other[0]) && allow(l.rules, other[1])
}

// TestNarrowsDelegated holds that under a selected delegation exactly that is allowed which the
// independent model in this file allows, for random roles, chains, callers, requests and
// authorizers.
func TestNarrowsDelegated(t *testing.T) {
	counted := map[bool]int{}
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 30))
		w := anyWorld(r)
		p := w.policy(t)
		before := pick(r, authorizer.DecisionNoOpinion, authorizer.DecisionNoOpinion, authorizer.DecisionAllow, authorizer.DecisionDeny)
		about, whom := pick(r, "get", "create", "granular"), pick(r, "u0", "u1", "")
		x := delegation.NewIndex()
		x.Connect(delegation.Sources{Namespace: namespaceUID})
		opinionOf := func(name, verb string) authorizer.Decision {
			if verb == about && (whom == "" || name == whom) {
				return before
			}
			return authorizer.DecisionNoOpinion
		}
		configured := chained(t, p.rbac, opinion(func(a authorizer.Attributes) authorizer.Decision {
			return opinionOf(a.GetUser().GetName(), a.GetVerb())
		}), p.rbac)
		a := New(configured, x, nil)
		chain := anyChain(r)
		leaf := stored(chain, x)
		u, q := anyUser(r), anyRequest(r)

		plain := func(u user.Info, q *authorizer.AttributesRecord) authorizer.Decision {
			if slices.Contains(u.GetGroups(), "system:masters") {
				return authorizer.DecisionAllow
			}
			if d := opinionOf(u.GetName(), q.Verb); d != authorizer.DecisionNoOpinion {
				return d
			}
			if held, _ := w.held(u, q.Namespace, nil); allow(held, q) {
				return authorizer.DecisionAllow
			}
			return authorizer.DecisionNoOpinion
		}
		want := !mints(q) && opinionOf(u.GetName(), q.Verb) != authorizer.DecisionDeny
		for i := range chain {
			l := &chain[i]
			to := u
			if i < len(chain)-1 {
				to = chain[i+1].delegator
			}
			want = want && !l.ended && !l.gone && !l.otherUID && slices.Contains(l.delegates, to.GetName()) && l.allows(q, i == len(chain)-1)
			d := plain(l.delegator, q)
			want = want && d != authorizer.DecisionDeny
			if i == 0 && !l.keep {
				other := ordinary(q)
				want = want && (d == authorizer.DecisionAllow || len(other) == 2 && plain(l.delegator, other[0]) == authorizer.DecisionAllow && plain(l.delegator, other[1]) == authorizer.DecisionAllow)
			}
		}
		want = want && !(chain[0].keep && chain[0].delegator.GetName() == u.GetName())

		s := &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: leaf}}
		for way, as := range map[string]user.Info{"header": selecting(t, u, s), "extra": told(t, u, s)} {
			q := *q
			q.User = as
			got, reason, err := a.Authorize(t.Context(), &q)
			if (got == authorizer.DecisionAllow) != want || err != nil {
				t.Fatalf("seed %d, %s: decision %v (%s), error %v, wanted allowed %t: %+v of %s under %+v", seed, way, got, reason, err, want, q, u.GetName(), chain)
			}
		}
		counted[want]++
	}
	t.Log(counted)
	if counted[true] < worlds/50 || counted[false] < worlds/50 {
		t.Errorf("%v of %d", counted, worlds)
	}
}

// TestOwnRequestOfReads holds which authorization checks of a request are about the request itself.
func TestOwnRequestOfReads(t *testing.T) {
	for name, tc := range map[string]struct {
		request, asked string
		want           bool
	}{
		"the verb":                    {"list", "list", true},
		"the metadata of a list":      {"list", "readmetadata", true},
		"the metadata of an object":   {"get", "readmetadata", true},
		"the metadata of a watch":     {"watch", "readmetadata", true},
		"the metadata behind a write": {"update", "readmetadata", false},
		"another read":                {"list", "get", false},
		"a granular write":            {"patch", "granular:labels", true},
		"a granular read":             {"get", "granular:labels", false},
	} {
		u := &User{}
		ctx := request.WithRequestInfo(request.WithUser(t.Context(), u), &request.RequestInfo{
			IsResourceRequest: true, Verb: tc.request, Resource: "secrets", Namespace: "shop", Name: "a"})
		asked := authorizer.AttributesRecord{User: u, Verb: tc.asked, Resource: "secrets", Namespace: "shop", Name: "a", ResourceRequest: true}
		if got := isOwnRequest(ctx, u, asked); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		if asked.Name = "b"; isOwnRequest(ctx, u, asked) {
			t.Errorf("%s of another object", name)
		}
	}
}
