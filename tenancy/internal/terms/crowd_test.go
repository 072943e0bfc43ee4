// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package terms_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// filed returns the requests of people in the order in which they were made, one each second before noon. The people are
// chosen by a function.
func filed(n int, who func(i int) v1alpha1.Person, state v1alpha1.RequestState) []v1alpha1.SudoRequest {
	var all []v1alpha1.SudoRequest
	for i := range n {
		r := asked()
		r.Name, r.UID = fmt.Sprintf("r-%03d", i), types.UID(fmt.Sprintf("uid-%03d", i))
		r.CreationTimestamp = metav1.Time{Time: noon.Add(time.Duration(i-n) * time.Second)}
		r.Spec.Decision, r.Spec.Requester, r.Status.State = nil, who(i), state
		all = append(all, *r)
	}
	return all
}

func always(p v1alpha1.Person) func(int) v1alpha1.Person {
	return func(int) v1alpha1.Person { return p }
}

// TestCrowdedRequests checks who has too many requests for another one.
//
// Attack: a sudoer files any number of requests, so that nobody finds those of others: as itself, by its other user
// name, by many service accounts of a group in the list, in one second, or after withdrawing each
// Was: got through
// Answer: refused beyond 10 that wait or give sudo and 500 in all; what is refused is gone after an hour
// Held by: TestRequestsAreBounded
// Attack: a sudoer keeps another one from requesting sudo, by filing many requests
// Answer: only its own requests count
// Held by: TestRequestsAreBounded
func TestCrowdedRequests(t *testing.T) {
	ada, bob := v1alpha1.Person{Username: "ada"}, v1alpha1.Person{Username: "bob"}
	account := func(name string) v1alpha1.Person { return v1alpha1.Person{Username: "system:serviceaccount:" + name} }
	many := func(i int) v1alpha1.Person { return account(fmt.Sprintf("crew:sa-%d", i)) }
	const open, waiting, done = terms.Open, v1alpha1.RequestPending, v1alpha1.RequestDenied
	for name, tc := range map[string]struct {
		others  []v1alpha1.SudoRequest
		who     v1alpha1.Person
		crowded bool
	}{
		"nothing is there":           {nil, ada, false},
		"one less":                   {filed(open-1, always(ada), waiting), ada, false},
		"as many as are allowed":     {filed(open, always(ada), waiting), ada, true},
		"granted ones":               {filed(open, always(ada), v1alpha1.RequestGranted), ada, true},
		"new ones, which are older":  {filed(open, always(ada), ""), ada, true},
		"finished ones":              {filed(open, always(ada), done), ada, false},
		"refused ones":               {filed(open, always(ada), v1alpha1.RequestRefused), ada, false},
		"of somebody else":           {filed(terms.Filed, always(bob), waiting), ada, false},
		"many that are withdrawn":    {filed(terms.Filed, always(ada), done), ada, true},
		"one less that is withdrawn": {filed(terms.Filed-1, always(ada), done), ada, false},
		"by another name with the same UID": {filed(open, always(v1alpha1.Person{Username: "ada@example.com", UID: "1"}), waiting),
			v1alpha1.Person{Username: "ada", UID: "1"}, true},
		"by another name with another UID": {filed(open, always(v1alpha1.Person{Username: "bob", UID: "2"}), waiting),
			v1alpha1.Person{Username: "ada", UID: "1"}, false},
		"by the same name with another UID": {filed(open, always(v1alpha1.Person{Username: "ada", UID: "2"}), waiting),
			v1alpha1.Person{Username: "ada", UID: "1"}, true},
		"by the same name in other groups": {filed(open, always(v1alpha1.Person{Username: "ada", Groups: []string{"ops"}}), waiting),
			ada, true},
		"by many accounts of a group":           {filed(open, many, waiting), account("crew:new"), true},
		"an account that the list names":        {filed(open, many, waiting), account("ci:robot"), false},
		"by the account that the list names":    {filed(open, always(account("ci:robot")), waiting), account("ci:robot"), true},
		"a person beside many accounts":         {filed(open, many, waiting), ada, false},
		"accounts beside the one that is named": {filed(open, always(account("ci:robot")), waiting), account("crew:new"), false},
	} {
		r := asked()
		r.UID, r.Spec.Requester, r.Spec.Decision = "new", tc.who, nil
		got := terms.JudgeNew(crew(), r, append(tc.others, *r), noon)
		if terms.IsCrowded(got) != tc.crowded ||
			tc.crowded && (got.State != v1alpha1.RequestRefused || got.FinishedAt == nil || got.Until != nil) {
			t.Errorf("%s: %+v", name, got)
		}
		if !tc.crowded && got.Message != terms.Judge(crew(), r, noon).Message {
			t.Errorf("%s: it is not judged as otherwise: %+v", name, got)
		}
	}
	r := asked()
	r.UID, r.Spec.Requester = "new", account("crew:new")
	if got := terms.JudgeNew(nil, r, filed(open, many, waiting), noon); !terms.IsCrowded(got) {
		t.Errorf("without a tenant: %+v", got)
	}
}

// TestCrowdsOfOneSecond judges many new requests of one second in all orders, and lets the oldest through: names, which
// clients choose, decide nothing, and those that were refused do not count.
func TestCrowdsOfOneSecond(t *testing.T) {
	for _, step := range []int{1, -1, 7} {
		all := filed(29, always(v1alpha1.Person{Username: "ada"}), "")
		for i := range all {
			all[i].Name, all[i].CreationTimestamp = fmt.Sprintf("z-%03d", len(all)-i), metav1.Time{Time: noon}
		}
		for n := range all {
			i := ((n*step)%len(all) + len(all)) % len(all)
			all[i].Status = terms.JudgeNew(crew(), &all[i], all, noon)
		}
		for i := range all {
			if terms.IsCrowded(all[i].Status) != (i >= terms.Open) {
				t.Errorf("in steps of %d: request %d: %+v", step, i, all[i].Status)
			}
		}
	}
	// Each is judged when it is made, and the cache has none of the results yet.
	all := filed(29, always(v1alpha1.Person{Username: "ada"}), "")
	for i := range all {
		all[i].Name, all[i].CreationTimestamp = fmt.Sprintf("z-%03d", len(all)-i), metav1.Time{Time: noon}
		if got := terms.JudgeNew(crew(), &all[i], all[:i+1], noon); terms.IsCrowded(got) != (i >= terms.Open) {
			t.Errorf("request %d, by names that go down: %+v", i, got)
		}
	}
	// Any number of refused ones takes no room from the next one.
	refused := terms.JudgeNew(crew(), &all[28], all, noon)
	all = filed(2*terms.Filed, always(v1alpha1.Person{Username: "ada"}), "")
	for i := range all {
		all[i].Status = refused
	}
	r := asked()
	r.UID, r.Spec.Decision = "new", nil
	if got := terms.JudgeNew(crew(), r, all, noon); terms.IsCrowded(got) {
		t.Errorf("after refused ones: %+v", got)
	}
}

// TestCrowdedRequestsGo checks that a request that was refused because of others is deleted when nobody could wait
// for it any more, and no other one.
func TestCrowdedRequestsGo(t *testing.T) {
	r := asked()
	r.UID, r.Spec.Decision = "new", nil
	r.Status = terms.JudgeNew(crew(), r, filed(terms.Open, always(r.Spec.Requester), v1alpha1.RequestPending), noon)
	if again := terms.Judge(crew(), r, noon); !terms.IsCrowded(again) {
		t.Errorf("judged once more: %+v", again)
	}
	if terms.IsOld(r, noon.Add(terms.Patience-time.Second)) || !terms.IsOld(r, noon.Add(terms.Patience)) ||
		terms.Again(r, r.Status, noon) != terms.Patience {
		t.Errorf("kept for %s", terms.Again(r, r.Status, noon))
	}
	r.Status.Message = "another reason"
	if terms.IsOld(r, noon.Add(terms.Kept-time.Second)) || terms.Again(r, r.Status, noon) != terms.Kept {
		t.Errorf("kept for %s", terms.Again(r, r.Status, noon))
	}
}
