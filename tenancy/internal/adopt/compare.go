// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// compare sets the people and the old bindings of a namespace. t is the tenant if the namespace belongs
// to it, and nil if it will.
func (s *state) compare(n *Namespace, t *v1alpha1.LNamespace, o Options) {
	rules := map[v1alpha1.Subject][]rbacv1.PolicyRule{}
	people := map[v1alpha1.Subject]*Person{}
	var order []v1alpha1.Subject
	person := func(m v1alpha1.Subject) *Person {
		if people[m] == nil {
			people[m] = &Person{Subject: words(m)}
			order = append(order, m)
		}
		return people[m]
	}
	old := s.old(n.Name, t)
	for i := range old {
		b := &old[i]
		if b.DeletionTimestamp != nil {
			continue
		}
		role, _ := s.rules(b)
		for _, m := range members(b) {
			p := person(m)
			if !slices.Contains(p.Roles, roleOf(b)) {
				p.Roles = append(p.Roles, roleOf(b))
			}
			rules[m] = append(rules[m], role...)
		}
	}
	for field, list := range n.Spec.Lists() {
		for _, m := range *list {
			p := person(m.Bare())
			if !slices.Contains(p.Lists, field) {
				p.Lists = append(p.Lists, field)
			}
		}
	}
	slices.SortFunc(order, func(a, b v1alpha1.Subject) int { return strings.Compare(words(a), words(b)) })
	for _, m := range order {
		p := people[m]
		plain, _ := s.given(n, t, m, o)
		p.Gains = uncovered(plain, slices.Concat(rules[m], s.everybody))
		p.Loses = uncovered(rules[m], plain)
		if slices.Contains(p.Lists, "managers") {
			p.Gains = append(p.Gains, "lists")
		}
		if slices.Contains(p.Lists, "sudoers") {
			p.Gains = append(p.Gains, "sudo")
		}
		n.People = append(n.People, *p)
	}
	for i := range old {
		n.Bindings = append(n.Bindings, s.judge(n, t, &old[i], o))
	}
}

// notReady is the reason why a binding stays until the controller has granted what the lists say.
const notReady = "the tenant is not ready"

// judge returns what step 2 does with an old binding.
func (s *state) judge(n *Namespace, t *v1alpha1.LNamespace, b *rbacv1.RoleBinding, o Options) Binding {
	out := Binding{Name: b.Name, Role: roleOf(b), uid: b.UID, version: b.ResourceVersion}
	all := members(b)
	for _, m := range all {
		out.Subjects = append(out.Subjects, words(m))
	}
	rules, found := s.rules(b)
	switch {
	case len(b.Subjects) == 0:
		out.Stays = "it names nobody"
	case !found:
		out.Stays = "its role does not exist"
	case b.DeletionTimestamp != nil:
		out.Stays = "it is being deleted"
	case t != nil && !isReady(t):
		out.Stays = notReady
	}
	for _, m := range all {
		if out.Stays != "" {
			break
		}
		plain, sudo := s.given(n, t, m, o)
		if o.SudoCounts && m.Kind != v1alpha1.ServiceAccountKind { // a program does not use sudo
			plain = slices.Concat(plain, sudo)
		}
		if lost := uncovered(rules, plain); len(lost) > 0 {
			out.Stays = fmt.Sprintf("%s would lose %s", words(m), lost[0])
			if len(lost) > 1 {
				out.Stays += fmt.Sprintf(", and rights on %d more resources", len(lost)-1)
			}
		}
	}
	return out
}

// roleOf returns the text of the role of a binding: its name, behind the word Role if it is in the namespace.
func roleOf(b *rbacv1.RoleBinding) string {
	if b.RoleRef.Kind == "ClusterRole" {
		return b.RoleRef.Name
	}
	return b.RoleRef.Kind + " " + b.RoleRef.Name
}

// members returns the subjects of a binding, as lists name them.
func members(b *rbacv1.RoleBinding) []v1alpha1.Subject {
	var out []v1alpha1.Subject
	for _, s := range b.Subjects {
		out = append(out, member(s).Bare())
	}
	return out
}

// has reports whether a list has an entry that says who the subject m is, and nothing else. An entry that says
// more gives less, so it covers nothing.
func has(list []v1alpha1.Subject, m v1alpha1.Subject) bool {
	return slices.Contains(withKinds(list), m)
}

// isReady reports whether the controller has granted what the lists say now.
func isReady(t *v1alpha1.LNamespace) bool {
	c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady)
	return t.DeletionTimestamp == nil && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == t.Generation
}

// belongs reports whether a namespace belongs to its LNamespace.
func belongs(ns *metav1.PartialObjectMetadata, t *v1alpha1.LNamespace) bool {
	return t.Status.NamespaceUID == ns.UID && ns.UID != "" || ns.Annotations[names.AdoptedBy] == string(t.UID) && t.UID != ""
}
