// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package grants_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

var pods = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "create"}}}

func delegated(t *testing.T, lns *v1alpha1.LNamespace, rules []rbacv1.PolicyRule) []*authority.AuthorityDelegation {
	t.Helper()
	all, err := grants.Delegations(lns, rules, grants.Options{Sudo: grants.Delegation})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDelegations checks that each sudoer has one delegation, which includes what the tenant allows
// sudo to do. It has no wildcards, and no verbs that would let the sudoer delegate further.
func TestDelegations(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "u"}}
	if all := delegated(t, lns, pods); len(all) != 0 {
		t.Errorf("to nobody: %v", all)
	}
	lns.Spec.Sudoers = []v1alpha1.Subject{
		{Name: "ada"}, {Kind: v1alpha1.UserKind, Name: "ada"}, {Kind: v1alpha1.GroupKind, Name: "ops"}, {Kind: v1alpha1.ServiceAccountKind, Name: "robot", Namespace: "ci"},
	}
	seen := map[string]bool{}
	for _, allow := range [][]v1alpha1.SudoAllowance{nil, {v1alpha1.AllowDelete, v1alpha1.AllowLists, v1alpha1.AllowNamespace, v1alpha1.AllowQuotas}} {
		lns.Spec.Sudo.Allow = allow
		all := delegated(t, lns, pods)
		if len(all) != 3 {
			t.Fatalf("%d delegations", len(all))
		}
		for _, d := range all {
			if seen[d.Name] {
				t.Errorf("%s again", d.Name)
			}
			seen[d.Name] = true
			if errs := validation.Delegation(d); len(errs) > 0 {
				t.Errorf("%v: %v", d.Spec.Delegates, errs)
			}
			marks := 0
			may := func(verb, resource string) bool {
				return slices.ContainsFunc(d.Spec.Rules, func(r rbacv1.PolicyRule) bool {
					return slices.Contains(r.Verbs, verb) && slices.Contains(r.Resources, resource)
				})
			}
			for _, r := range d.Spec.Rules {
				for _, word := range slices.Concat(r.Verbs, r.APIGroups, r.Resources) {
					if strings.Contains(word, "*") || word == authority.GroupName {
						t.Errorf("%v has %q", d.Spec.Delegates, word)
					}
				}
			}
			for verb, kind := range map[string]bool{names.SudoVerb: d.Spec.Delegates[0].Kind != authority.DelegateGroup, names.SudoGroupVerb: d.Spec.Delegates[0].Kind == authority.DelegateGroup} {
				if may(verb, "lnamespaces") {
					marks++
					if !kind {
						t.Errorf("%v has the verb %s", d.Spec.Delegates, verb)
					}
				}
			}
			if marks != 1 {
				t.Errorf("%v has %d marks", d.Spec.Delegates, marks)
			}
			for verb, resource := range map[string]string{"delete": "lnamespaces", "update": "namespaces", "create": "resourcequotas", "granular:" + names.Sudoers: "lnamespaces"} {
				if may(verb, resource) != (allow != nil) {
					t.Errorf("allowed %v: %s of %s", allow, verb, resource)
				}
			}
		}
	}
	// Many rules, as in a cluster with many API groups.
	var many []rbacv1.PolicyRule
	for i := range 300 {
		many = append(many, rbacv1.PolicyRule{APIGroups: []string{fmt.Sprintf("g%d.example.com", i)}, Resources: []string{"things"}, Verbs: []string{"get"}})
	}
	fitting, err := grants.Delegable(many)
	if err != nil {
		t.Fatal(err)
	}
	if errs := validation.Delegation(delegated(t, lns, fitting)[0]); len(errs) > 0 {
		t.Errorf("%d rules: %v", len(fitting), errs)
	}
	// The name of a delegation depends on its spec and on the UID of the LNamespace.
	before := delegated(t, lns, pods)[0].Name
	if again := delegated(t, lns, pods)[0].Name; again != before {
		t.Errorf("%s and %s", before, again)
	}
	if other := delegated(t, lns, append(pods, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}))[0].Name; other == before {
		t.Error("other rules, the same name")
	}
	lns.UID = "another"
	if other := delegated(t, lns, pods)[0].Name; other == before {
		t.Error("another LNamespace, the same name")
	}
}

// TestNobodyImpersonates checks that in the mode Delegation no wanted object allows impersonation,
// and that the objects that allow it in the mode Impersonation are unwanted.
func TestNobodyImpersonates(t *testing.T) {
	people := []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "ada"}}
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: v1alpha1.LNamespaceSpec{Sudoers: people}}
	for mode, impersonates := range map[grants.SudoMode]bool{"": true, grants.Impersonation: true, grants.Delegation: false} {
		wanted, unwanted := grants.For(lns, grants.Options{Sudo: mode})
		found := 0
		for _, o := range wanted {
			role, ok := o.(*rbacv1.ClusterRole)
			if ok && slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Verbs, "impersonate") }) {
				found++
			}
		}
		if (found > 0) != impersonates {
			t.Errorf("%q: %v", mode, called(wanted))
		}
		if got := called(append(wanted, unwanted...)); !slices.Equal(got, called(grants.All("team", people...))) {
			t.Errorf("%q: %v", mode, got)
		}
	}
}
