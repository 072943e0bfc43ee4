// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestConditionsCompileOnce checks that a new version of a delegation with the same conditions, such
// as one that only records the last use, shares the compiled conditions, and that other conditions
// are compiled anew.
//
// Attack: long conditions, which the server compiles again at each recorded use and at its start
// Answer: they are compiled once, by the first request that needs them, while other requests go on
func TestConditionsCompileOnce(t *testing.T) {
	x := NewIndex()
	d := toBot()
	d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "object.spec.a == 1"}}
	x.Observe(d, false)
	first := x.stored.Get("u").conditions
	d = d.DeepCopy()
	d.ResourceVersion, d.Status.LastUsed = "2", &metav1.Time{Time: time.Unix(1, 0)}
	x.Observe(d, false)
	if x.stored.Get("u").version != 2 || x.stored.Get("u").conditions != first {
		t.Error("the conditions of the new version are not those of the old one")
	}
	d = d.DeepCopy()
	d.ResourceVersion, d.Spec.Conditions[0].Expression = "3", "object.spec.a == 2"
	x.Observe(d, false)
	if x.stored.Get("u").conditions == first {
		t.Error("other conditions are not compiled anew")
	}
	chain, refusal := x.Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	d.Spec.Conditions[0].APIVersions = []string{"example.com/v1"}
	d.ResourceVersion = "4"
	x.Observe(d, false)
	if chain, refusal = x.Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"}); refusal != nil {
		t.Fatal(refusal)
	}
	for value, want := range map[int64]bool{1: false, 2: true} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "spec": map[string]any{"a": value}}}
		if refusal := chain.verify(t.Context(), object, nil); (refusal == nil) != want {
			t.Errorf("%d: %v", value, refusal)
		}
	}
}

// TestConditionThatDoesNotCompile checks that a stored condition that does not compile allows nothing.
func TestConditionThatDoesNotCompile(t *testing.T) {
	x := NewIndex()
	d := toBot()
	d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}, {Expression: "object."}}
	x.Observe(d, false)
	chain, refusal := x.Chain(t.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if !chain.Conditional() || chain.Leaf().canVerify("delete") {
		t.Error("the delegation counts as one without conditions")
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}
	if refusal := chain.verify(t.Context(), object, nil); refusal == nil || !strings.Contains(refusal.Message, "does not compile") {
		t.Errorf("refusal: %v", refusal)
	}
}

// TestAncestorsStayHidden checks that a refusal names the selected delegation and none of its
// ancestors, and that a caller who is no delegate gets the message for a delegation that does not
// exist.
func TestAncestorsStayHidden(t *testing.T) {
	x := NewIndex()
	parent := toBot()
	parent.Name, parent.UID, parent.Status.Delegator.Username = "secret-parent", "p", "secret-alice"
	parent.Status.ExpirationTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	child := toBot()
	child.Name, child.UID, child.ResourceVersion = "child", "c", "2"
	child.Spec.Delegates[0].Name = "helper"
	child.Status.Delegator.Username = "bot"
	child.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, By: "secret-alice", Name: "secret-parent", UID: "p"}}
	x.Observe(parent, false)
	x.Observe(child, false)
	_, refusal := x.Chain(t.Context(), "child", "", &user.DefaultInfo{Name: "helper"})
	if refusal == nil || refusal.Reason != Expired || refusal.Message != `an ancestor of AuthorityDelegation "child" has expired` {
		t.Errorf("a delegate is told: %v", refusal)
	}
	_, missing := x.Chain(t.Context(), "none", "", &user.DefaultInfo{Name: "mallory"})
	for _, name := range []string{"child", "secret-parent"} {
		_, refusal := x.Chain(t.Context(), name, "", &user.DefaultInfo{Name: "mallory"})
		if refusal == nil || refusal.Reason != NotDelegate || strings.ReplaceAll(refusal.Message, name, "none") != missing.Message {
			t.Errorf("another caller is told about %s: %v", name, refusal)
		}
	}
}

// TestDescribeDelegator checks which creators of delegations a message names.
func TestDescribeDelegator(t *testing.T) {
	by := func(name string, source *v1alpha1.AuthorityDelegation) *Delegation {
		return &Delegation{Name: "of-" + name, Delegator: &user.DefaultInfo{Name: name}, Source: source}
	}
	c := &Chain{Links: []*Delegation{by("alice", nil), by("carol", toBot()), by("bot", nil)}}
	for i, want := range []string{
		`the creator of an ancestor of AuthorityDelegation "of-bot"`,
		`user "carol", whose authority a policy delegated,`,
		`user "bot", who created AuthorityDelegation "of-bot",`,
	} {
		if got := c.DescribeDelegator(i); got != want {
			t.Errorf("%d: got %s, want %s", i, got, want)
		}
	}
}
