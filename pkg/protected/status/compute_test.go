// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/protected"
)

// roles implements Bindings for one role.
type roles struct {
	uid        types.UID
	here       []*rbacv1.RoleBinding
	everywhere []*rbacv1.ClusterRoleBinding
	err        error
}

func (r roles) Role(protect.Reference) (types.UID, bool) { return r.uid, r.uid != "" }

func (r roles) Bindings(protect.Reference) ([]*rbacv1.RoleBinding, []*rbacv1.ClusterRoleBinding, error) {
	return r.here, r.everywhere, r.err
}

func at(second int) metav1.Time { return metav1.NewTime(time.Unix(int64(1000+second), 0)) }

func here(name string, second int, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, CreationTimestamp: at(second)},
		Subjects: subjects}
}

func everywhere(name string, second int, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(second)},
		Subjects: subjects}
}

func subject(kind, namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: kind, Namespace: namespace, Name: name}
}

// referring returns an attribute that has referred to a role since second 10.
func referring() *authority.ProtectedAttribute {
	return &authority.ProtectedAttribute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", ResourceVersion: "1", Generation: 3,
			CreationTimestamp: at(2)},
		Spec: v1alpha1.ProtectedAttributeSpec{
			AttributeKind: v1alpha1.AttributeLabel, AttributeName: "env",
			RoleRef: &v1alpha1.RoleReference{Kind: "ClusterRole", Name: "setter"},
		},
		Status: v1alpha1.ProtectedAttributeStatus{
			NamespaceUID: "u", LastChange: &v1alpha1.LastChange{Time: at(10), Generation: 3, User: "alice"}, AuditViolations: 5,
			Holders: []v1alpha1.Subject{{Kind: "User", Name: "of before"}}, HolderCount: 1,
		},
	}
}

// TestOf checks what Compute writes into a status about the role, its holders and its bindings.
func TestOf(t *testing.T) {
	bindings := roles{
		uid: "r",
		here: []*rbacv1.RoleBinding{here("old", 10, subject("User", "", "bob"), subject("ServiceAccount", "", "local")),
			here("new", 11, subject("Group", "", "team"), subject("User", "", "bob"))},
		everywhere: []*rbacv1.ClusterRoleBinding{everywhere("older", 1, subject("ServiceAccount", "s", "robot"), subject("ServiceAccount", "", "nobody"))},
	}
	// The attribute is in a namespace, so the binding in the cluster is counted and not listed.
	earlier := []v1alpha1.BindingReference{{Kind: "RoleBinding", Namespace: "n", Name: "old"}}
	for _, tc := range []struct {
		name     string
		of       func(*authority.ProtectedAttribute)
		roles    roles
		replaced bool
		want     v1alpha1.ProtectedAttributeStatus
		// accepted and asked are the wanted reasons of the conditions Accepted and
		// BindingsAsked, with + for True and - for False.
		accepted, asked string
	}{
		{
			name: "all there is", roles: bindings,
			want: v1alpha1.ProtectedAttributeStatus{
				Role: &v1alpha1.ResolvedRole{Kind: "ClusterRole", Name: "setter", UID: "r"},
				Holders: []v1alpha1.Subject{
					{Kind: "Group", Name: "team"}, {Kind: "ServiceAccount", Namespace: "n", Name: "local"},
					{Kind: "User", Name: "bob"},
				}, HolderCount: 4,
				EarlierBindings: earlier, EarlierBindingCount: 2,
			},
			accepted: "+Accepted", asked: "-EarlierBindings",
		},
		{
			name: "no role", roles: roles{here: bindings.here, everywhere: bindings.everywhere},
			want:     v1alpha1.ProtectedAttributeStatus{EarlierBindings: earlier, EarlierBindingCount: 2},
			accepted: "+RoleNotFound", asked: "-EarlierBindings",
		},
		{
			name: "no bindings", roles: roles{uid: "r"},
			want:     v1alpha1.ProtectedAttributeStatus{Role: &v1alpha1.ResolvedRole{Kind: "ClusterRole", Name: "setter", UID: "r"}},
			accepted: "+Accepted", asked: "+BindingsAsked",
		},
		{
			name: "a later binding in the cluster", roles: roles{uid: "r", everywhere: []*rbacv1.ClusterRoleBinding{everywhere("new", 11, subject("User", "", "olga"))}},
			want: v1alpha1.ProtectedAttributeStatus{
				Role: &v1alpha1.ResolvedRole{Kind: "ClusterRole", Name: "setter", UID: "r"}, HolderCount: 1,
			},
			accepted: "+Accepted", asked: "-ClusterRoleBindings",
		},
		{
			name: "only an earlier binding in the cluster", roles: roles{uid: "r", everywhere: bindings.everywhere},
			want: v1alpha1.ProtectedAttributeStatus{
				Role: &v1alpha1.ResolvedRole{Kind: "ClusterRole", Name: "setter", UID: "r"}, HolderCount: 1, EarlierBindingCount: 1,
			},
			accepted: "+Accepted", asked: "-EarlierBindings",
		},
		{
			name: "another namespace", roles: roles{uid: "r"}, replaced: true,
			want:     v1alpha1.ProtectedAttributeStatus{Role: &v1alpha1.ResolvedRole{Kind: "ClusterRole", Name: "setter", UID: "r"}},
			accepted: "-NamespaceReplaced", asked: "+BindingsAsked",
		},
		{
			name: "a verb", roles: bindings,
			of: func(a *authority.ProtectedAttribute) {
				a.Spec.RoleRef = nil
				a.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBindingsAsked, Status: metav1.ConditionFalse, Reason: "EarlierBindings"}}
			},
			accepted: "+Accepted",
		},
		{
			name: "no last change", roles: roles{uid: "r", here: []*rbacv1.RoleBinding{here("old", 2), here("new", 3)}},
			of: func(a *authority.ProtectedAttribute) { a.Status.LastChange = nil },
			want: v1alpha1.ProtectedAttributeStatus{
				Role:            &v1alpha1.ResolvedRole{Kind: "ClusterRole", Name: "setter", UID: "r"},
				EarlierBindings: []v1alpha1.BindingReference{{Kind: "RoleBinding", Namespace: "n", Name: "old"}}, EarlierBindingCount: 1,
			},
			accepted: "+Accepted", asked: "-EarlierBindings",
		},
	} {
		a := referring()
		if tc.of != nil {
			tc.of(a)
		}
		before := a.DeepCopyObject()
		got, err := Compute(protected.Attribute{Attribute: a, InForce: !tc.replaced}, tc.roles)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, a.DeepCopyObject()); d != "" {
			t.Errorf("%s: the attribute was changed: %s", tc.name, d)
		}
		reason := func(of string) string {
			c := apimeta.FindStatusCondition(got.Conditions, of)
			switch {
			case c == nil:
				return ""
			case c.ObservedGeneration != 3:
				t.Errorf("%s: %s is of generation %d", tc.name, of, c.ObservedGeneration)
			}
			return map[metav1.ConditionStatus]string{metav1.ConditionTrue: "+", metav1.ConditionFalse: "-"}[c.Status] + c.Reason
		}
		if accepted, asked := reason(v1alpha1.ConditionAccepted), reason(v1alpha1.ConditionBindingsAsked); accepted != tc.accepted || asked != tc.asked {
			t.Errorf("%s: conditions %s, %s", tc.name, accepted, asked)
		}
		acknowledge := false
		if c := apimeta.FindStatusCondition(got.Conditions, v1alpha1.ConditionBindingsAsked); c != nil {
			acknowledge = strings.Contains(c.Message, "to acknowledge a binding, delete it and create it again")
		}
		if acknowledge != strings.HasPrefix(tc.asked, "-") {
			t.Errorf("%s: says how to acknowledge bindings: %t", tc.name, acknowledge)
		}
		if errs := validation.StatusUpdate(&a.ObjectMeta, &a.ObjectMeta, got); len(errs) > 0 {
			t.Errorf("%s: the server does not take it: %v", tc.name, errs)
		}
		tc.want.ObservedGeneration, tc.want.NamespaceUID, tc.want.LastChange, tc.want.AuditViolations = 3, "u", a.Status.LastChange, 5
		got.Conditions = nil
		if d := cmp.Diff(tc.want, *got); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
	if _, err := Compute(protected.Attribute{Attribute: referring()}, roles{err: errors.New("no index")}); err == nil {
		t.Error("nothing is known of bindings, and there is a status")
	}
}

// TestBounds holds that the lists in a status are limited while the counts are not, and that
// computing a status again from its own result changes nothing.
func TestBounds(t *testing.T) {
	known := roles{uid: "r"}
	for i := range 100 {
		known.here = append(known.here, here(fmt.Sprintf("b%03d", 99-i), 1, subject("User", "", fmt.Sprintf("u%03d", 99-i))))
	}
	a := referring()
	first, err := Compute(protected.Attribute{Attribute: a, InForce: true}, known)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Holders) != 64 || first.HolderCount != 100 || len(first.EarlierBindings) != 64 || first.EarlierBindingCount != 100 {
		t.Errorf("%d of %d holders, %d of %d bindings", len(first.Holders), first.HolderCount, len(first.EarlierBindings), first.EarlierBindingCount)
	}
	if first.Holders[0].Name != "u000" || first.EarlierBindings[0].Name != "b000" {
		t.Error("the lists are not in order")
	}
	if errs := validation.StatusUpdate(&a.ObjectMeta, &a.ObjectMeta, first); len(errs) > 0 {
		t.Errorf("the server does not take it: %v", errs)
	}
	a.Status = *first
	again, err := Compute(protected.Attribute{Attribute: a, InForce: true}, known)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, again); d != "" {
		t.Error(d)
	}
}

// TestOfTheCluster checks that the status of a ClusterProtectedAttribute names the bindings and
// their subjects. It requires the verb bind for these bindings, so only earlier ones count as not
// asked.
func TestOfTheCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		second int
		status metav1.ConditionStatus
		listed int
	}{"later": {11, metav1.ConditionTrue, 0}, "earlier": {9, metav1.ConditionFalse, 1}} {
		of := referring()
		a := &authority.ClusterProtectedAttribute{ObjectMeta: of.ObjectMeta, Spec: of.Spec, Status: of.Status}
		a.Namespace = ""
		got, err := Compute(protected.Attribute{Attribute: a, InForce: true}, roles{uid: "r", everywhere: []*rbacv1.ClusterRoleBinding{everywhere("b", tc.second, subject("User", "", "olga"))}})
		if err != nil {
			t.Fatal(err)
		}
		if c := apimeta.FindStatusCondition(got.Conditions, v1alpha1.ConditionBindingsAsked); c == nil || c.Status != tc.status {
			t.Errorf("%s: %v", name, c)
		}
		if len(got.Holders) != 1 || got.Holders[0].Name != "olga" || got.HolderCount != 1 || len(got.EarlierBindings) != tc.listed || got.EarlierBindingCount != int64(tc.listed) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestMessageOfBindingsAsked checks that the message of the condition tells both reasons why
// bindings may not have needed the verb, with their numbers and without names.
func TestMessageOfBindingsAsked(t *testing.T) {
	got, err := Compute(protected.Attribute{Attribute: referring(), InForce: true}, roles{
		uid: "r", here: []*rbacv1.RoleBinding{here("old", 1)},
		everywhere: []*rbacv1.ClusterRoleBinding{everywhere("a", 11, subject("User", "", "olga")), everywhere("b", 12)},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := apimeta.FindStatusCondition(got.Conditions, v1alpha1.ConditionBindingsAsked)
	for _, says := range []string{"2 ClusterRoleBindings of the role count", "1 bindings of the role may be older", "check whether"} {
		if !strings.Contains(c.Message, says) {
			t.Errorf("the message lacks %q: %s", says, c.Message)
		}
	}
	if strings.Contains(c.Message, "olga") {
		t.Errorf("the message names a subject: %s", c.Message)
	}
}

// TestMessageOfAccepted checks that the message of the condition tells what to do about an attribute that has no effect or
// admits nobody.
func TestMessageOfAccepted(t *testing.T) {
	for says, tc := range map[string]struct {
		role    types.UID
		inForce bool
	}{
		"the attribute is in effect": {"r", true},
		`the attribute is in effect, but it admits nobody, because ClusterRole "setter" does not exist`: {"", true},
		"the attribute was made for an earlier namespace of this name, and has no effect: delete it":    {"r", false},
	} {
		got, err := Compute(protected.Attribute{Attribute: referring(), InForce: tc.inForce}, roles{uid: tc.role})
		if err != nil {
			t.Fatal(err)
		}
		if c := apimeta.FindStatusCondition(got.Conditions, v1alpha1.ConditionAccepted); c == nil || c.Message != says {
			t.Errorf("%v, wanted %q", c, says)
		}
	}
}
