// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package naming_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
	"kube-granular.dev/tenancy/internal/naming"
)

// TestNamesThatAreRefused checks which names are refused, why, and what the message proposes instead. For each
// refused name there is a similar one that is allowed.
func TestNamesThatAreRefused(t *testing.T) {
	rules := naming.Rules{Pattern: regexp.MustCompile(naming.AddOns), Allowed: []string{"dev"}}
	for name, want := range map[string]string{
		"com": "top-level domain", "io": "top-level domain", "team": "top-level domain", "shop": "top-level domain", "de": "top-level domain",
		"svc": "DNS uses", "cluster": "DNS uses", "local": "DNS uses",
		"istio-system": "end with -system", "x-system": "end with -system",
		"cert-manager": "pattern", "istio-gateways": "pattern",
		"dev": "", "team-x": "", "books": "", "commerce": "", "ios": "", "svcs": "", "system": "", "my-cert-manager": "", "my-system-x": "",
	} {
		err := rules.Refused(name)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			continue
		}
		_, rest, _ := strings.Cut(err.Error(), `such as "`)
		proposed, _, _ := strings.Cut(rest, `"`)
		if !strings.HasPrefix(proposed, "team-") || rules.Refused(proposed) != nil {
			t.Errorf("%s: proposes %q", name, proposed)
		}
	}
	if err := (naming.Rules{}).Refused("cert-manager"); err != nil {
		t.Errorf("without a pattern: %v", err)
	}
}

// TestClaimedNames checks in which places a service account of a namespace counts.
func TestClaimedNames(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	cluster := func(s rbacv1.Subject) client.Object {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Subjects: []rbacv1.Subject{s}}
	}
	labelled := func(tenant string, object client.Object) client.Object {
		object.SetLabels(map[string]string{names.ManagedBy: names.Manager, names.Tenant: tenant})
		return object
	}
	robot := v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: "ghost", Name: "robot"}
	tenant := func(name string, spec v1alpha1.LNamespaceSpec) client.Object {
		return &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	list := []v1alpha1.Subject{robot}
	for name, tc := range map[string]struct {
		object  client.Object
		claimed bool
	}{
		"an account":                    {cluster(rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ghost", Name: "robot"}), true},
		"all accounts":                  {cluster(rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:ghost"}), true},
		"a user name":                   {cluster(rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:ghost:robot"}), true},
		"another account":               {cluster(rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ghosts", Name: "robot"}), false},
		"all other accounts":            {cluster(rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:ghosts"}), false},
		"another user name":             {cluster(rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:ghosts:robot"}), false},
		"a person":                      {cluster(rbacv1.Subject{Kind: "User", Name: "ghost"}), false},
		"its sudoers":                   {cluster(rbacv1.Subject{Kind: "Group", Name: "lnamespace:ghost-sudoers"}), true},
		"the user of sudo":              {cluster(rbacv1.Subject{Kind: "User", Name: "lnamespace:ghost-sudoers"}), true},
		"one of its sudoers":            {cluster(rbacv1.Subject{Kind: "User", Name: "lnamespace:ghost:ada"}), true},
		"other sudoers":                 {cluster(rbacv1.Subject{Kind: "Group", Name: "lnamespace:ghosts-sudoers"}), false},
		"another sudoer":                {cluster(rbacv1.Subject{Kind: "User", Name: "lnamespace:ghosts:ghost"}), false},
		"all delegators":                {cluster(rbacv1.Subject{Kind: "Group", Name: "lnamespace:delegators"}), false},
		"the controller's own binding":  {labelled("ghost", cluster(rbacv1.Subject{Kind: "Group", Name: "lnamespace:ghost-sudoers"})), false},
		"the binding of another tenant": {labelled("other", cluster(rbacv1.Subject{Kind: "Group", Name: "lnamespace:ghost-sudoers"})), true},
		"its sudoers in its own namespace": {&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ghost", Name: "b"},
			Subjects: []rbacv1.Subject{{Kind: "Group", Name: "lnamespace:ghost-sudoers"}, {Kind: "ServiceAccount", Namespace: "ghost", Name: "robot"}}}, false},
		"its sudoers in a namespace": {labelled("ghost", &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b"},
			Subjects: []rbacv1.Subject{{Kind: "Group", Name: "lnamespace:ghost-sudoers"}}}), true},
		"in a namespace": {&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ghost", Name: "robot"}}}, true},
		"a user":                 {tenant("other", v1alpha1.LNamespaceSpec{Users: list}), true},
		"a manager":              {tenant("other", v1alpha1.LNamespaceSpec{Managers: list}), true},
		"a sudoer":               {tenant("other", v1alpha1.LNamespaceSpec{Sudoers: list}), true},
		"the tenant's own lists": {tenant("ghost", v1alpha1.LNamespaceSpec{Sudoers: list}), false},
	} {
		api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.object).Build()
		survey, err := (&naming.Surveys{}).Fresh(t.Context(), api)
		if err != nil {
			t.Fatal(err)
		}
		if err := survey.Claims("ghost"); errors.Is(err, naming.ErrClaimed) != tc.claimed || !tc.claimed && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
