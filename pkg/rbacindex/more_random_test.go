// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/cache"
)

// TestForMoreSameAsAll holds that RBAC decides with ForMore as it does without this package, for
// random callers, whatever changes of bindings and roles come between the calls.
func TestForMoreSameAsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	allowed, refused, version := 0, 0, 0
	for range 400 {
		p := newPolicy()
		var questions []*upstream.AttributesRecord
		var under []context.Context
		var queries []*Query
		for range 3 {
			question := asks(anyCaller(r))
			questions = append(questions, &question)
			asking, query := ForSeveral(context.Background(), &question)
			under, queries = append(under, asking), append(queries, query)
		}
		for range 100 {
			version++
			p.change(t, r, strconv.Itoa(version))
			i := r.IntN(len(questions))
			question := questions[i]
			if r.IntN(3) > 0 {
				under[i], queries[i] = ForMore(context.Background(), question, queries[i])
			} else {
				under[i], queries[i] = ForSeveral(context.Background(), question)
			}
			for j := range 1 + r.IntN(3) {
				question.Verb = fmt.Sprintf("v%d", r.IntN(2))
				want, _, _ := p.plain.Authorize(context.Background(), question)
				got, _, _ := p.narrow.Authorize(under[i], question)
				if j > 0 {
					// A change between the checks of one sequence need not be seen by them, so
					// their decisions are not compared.
					version++
					p.change(t, r, strconv.Itoa(version))
					continue
				}
				if got != want {
					t.Fatalf("%+v, %s: %v, by all bindings %v\n%v\n%v", question.User, question.Verb, got, want, p.bindings.GetStore().List(), p.clusterBindings.GetStore().List())
				}
				if want == upstream.DecisionAllow {
					allowed++
				} else {
					refused++
				}
			}
		}
	}
	if min(allowed, refused) < 5000 {
		t.Errorf("%d were allowed and %d refused, the cases are lopsided", allowed, refused)
	}
}

// change makes a random change of a binding or role, or none.
func (p *policy) change(t *testing.T, r *rand.Rand, version string) {
	t.Helper()
	named, verb := fmt.Sprintf("r%d", r.IntN(3)), fmt.Sprintf("v%d", r.IntN(2))
	bound := toRole(binding("a", fmt.Sprintf("b%d", r.IntN(6)), named, anySubject(r), anySubject(r)))
	bound.RoleRef.Kind = pick(r, "Role", "ClusterRole")
	everywhere := clusterBinding(bound.Name, named, anySubject(r))
	ofNamespace, ofCluster := role("a", named, verb), clusterRole(named, verb)
	i := r.IntN(4)
	informer := []cache.SharedIndexInformer{p.bindings, p.clusterBindings, p.roles, p.clusterRoles}[i]
	object := []runtime.Object{bound, everywhere, ofNamespace, ofCluster}[i]
	object.(metav1.Object).SetResourceVersion(version)
	var err error
	switch r.IntN(16) {
	case 0, 1:
		err = informer.GetStore().Delete(object)
	case 2:
		err = informer.GetStore().Replace([]any{object}, version)
	case 3:
		if r.IntN(4) == 0 {
			err = informer.GetStore().Replace(nil, version)
		}
	case 4, 5, 6, 7: // no change
	default:
		err = informer.GetStore().Update(object)
	}
	if err != nil {
		t.Fatal(err)
	}
}
