// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// Lists says from which bindings the lists of a new tenant come: the names of ClusterRoles.
type Lists struct {
	// Users, Managers and Sudoers are the ClusterRoles whose subjects come into these lists.
	Users, Managers, Sudoers []string
	// Account is the key of a label or an annotation of the namespace with the account that pays.
	Account string
}

// derive returns the LNamespace for a namespace, from its bindings. Subjects that no list can name are
// left out: their bindings stay.
func (l Lists) derive(ns *metav1.PartialObjectMetadata, bindings []rbacv1.RoleBinding) *v1alpha1.LNamespace {
	t := &v1alpha1.LNamespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace"},
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name},
	}
	if l.Account != "" {
		if t.Spec.Billing.Account = ns.Annotations[l.Account]; t.Spec.Billing.Account == "" {
			t.Spec.Billing.Account = ns.Labels[l.Account]
		}
	}
	for i := range bindings {
		b := &bindings[i]
		if b.RoleRef.Kind != "ClusterRole" || b.DeletionTimestamp != nil {
			continue
		}
		for _, list := range []struct {
			roles []string
			to    *[]v1alpha1.Subject
		}{{l.Users, &t.Spec.Users}, {l.Managers, &t.Spec.Managers}, {l.Sudoers, &t.Spec.Sudoers}} {
			if !slices.Contains(list.roles, b.RoleRef.Name) {
				continue
			}
			for _, s := range b.Subjects {
				if m := member(s); isListable(m) && !slices.Contains(*list.to, m) {
					*list.to = append(*list.to, m)
				}
			}
		}
	}
	for _, list := range t.Spec.Lists() {
		slices.SortFunc(*list, func(a, b v1alpha1.Subject) int { return strings.Compare(words(a), words(b)) })
	}
	return t
}

// member returns the subject of a binding as a list of a tenant names it. A service account has two
// names in a binding, and one in a list.
func member(s rbacv1.Subject) v1alpha1.Subject {
	if s.Kind == rbacv1.UserKind {
		if namespace, name, found := strings.Cut(strings.TrimPrefix(s.Name, account), ":"); found && strings.HasPrefix(s.Name, account) {
			return v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: namespace, Name: name}
		}
	}
	m := v1alpha1.Subject{Kind: v1alpha1.SubjectKind(s.Kind), Name: s.Name}
	if s.Kind == rbacv1.ServiceAccountKind {
		m.Namespace = s.Namespace
	}
	return m
}

// The beginnings of names of the system.
const (
	account  = "system:serviceaccount:"
	accounts = "system:serviceaccounts:"
	system   = "system:"
)

// isListable reports whether a list of a tenant can name the subject, as the schema of LNamespaces says.
func isListable(s v1alpha1.Subject) bool {
	if s.Name == "" || len(s.Name) > 256 || strings.HasPrefix(s.Name, names.Prefix) || strings.ContainsFunc(s.Name, unicode.IsControl) {
		return false
	}
	switch s.Kind {
	case v1alpha1.UserKind:
		return !strings.HasPrefix(s.Name, system)
	case v1alpha1.GroupKind:
		return !strings.HasPrefix(s.Name, system) || strings.HasPrefix(s.Name, accounts)
	case v1alpha1.ServiceAccountKind:
		return s.Namespace != ""
	}
	return false
}

// isAnonymous reports whether the subject stands for callers that are not authenticated.
func isAnonymous(s v1alpha1.Subject) bool {
	return s.Kind == v1alpha1.UserKind && s.Name == "system:anonymous" || s.Kind == v1alpha1.GroupKind && s.Name == "system:unauthenticated"
}

// words returns the text of a subject for people.
func words(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.ServiceAccountKind {
		return fmt.Sprintf("%s %s/%s", s.Kind, s.Namespace, s.Name)
	}
	return fmt.Sprintf("%s %s", s.Kind, s.Name)
}

// differs returns the first field in which the spec of an LNamespace of the cluster is not as wanted, or
// an empty string. The webhook may have set the account, and the server the defaults.
func differs(now, want v1alpha1.LNamespaceSpec) string {
	for _, list := range []struct {
		field     string
		now, want []v1alpha1.Subject
	}{{"users", now.Users, want.Users}, {"managers", now.Managers, want.Managers}, {"sudoers", now.Sudoers, want.Sudoers}} {
		if !equality.Semantic.DeepEqual(withKinds(list.now), withKinds(list.want)) {
			return "spec." + list.field
		}
	}
	revocation := func(s v1alpha1.Sudo) v1alpha1.AtRevocation {
		if s.AtRevocation == "" {
			return v1alpha1.ReportLeftovers
		}
		return s.AtRevocation
	}
	policy := func(s v1alpha1.LNamespaceSpec) v1alpha1.DeletionPolicy {
		if s.DeletionPolicy == "" {
			return v1alpha1.DeleteNamespace
		}
		return s.DeletionPolicy
	}
	switch {
	case !slices.Equal(slices.Sorted(slices.Values(now.Sudo.Allow)), slices.Sorted(slices.Values(want.Sudo.Allow))):
		return "spec.sudo.allow"
	case revocation(now.Sudo) != revocation(want.Sudo):
		return "spec.sudo.atRevocation"
	case now.Sudo.Approval != want.Sudo.Approval:
		return "spec.sudo.approval"
	case now.Sudo.MaxDuration != want.Sudo.MaxDuration:
		return "spec.sudo.maxDuration"
	case policy(now) != policy(want):
		return "spec.deletionPolicy"
	case want.Billing.Account != "" && now.Billing.Account != want.Billing.Account:
		return "spec.billing.account"
	case !equality.Semantic.DeepEqual(now.Billing.Labels, want.Billing.Labels):
		return "spec.billing.labels"
	}
	// A field that is not named above must not differ either.
	rest := want
	rest.Users, rest.Managers, rest.Sudoers = now.Users, now.Managers, now.Sudoers
	rest.DeletionPolicy, rest.Billing = now.DeletionPolicy, now.Billing
	rest.Sudo.Allow, rest.Sudo.AtRevocation = now.Sudo.Allow, now.Sudo.AtRevocation
	if !equality.Semantic.DeepEqual(now, rest) {
		return "spec"
	}
	return ""
}

func withKinds(list []v1alpha1.Subject) []v1alpha1.Subject {
	out := slices.Clone(list)
	for i := range out {
		out[i].Kind = cmp.Or(out[i].Kind, v1alpha1.UserKind)
	}
	return out
}
