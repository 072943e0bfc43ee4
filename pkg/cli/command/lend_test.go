// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityfake "kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/lend"
)

var update = flag.Bool("update", false, "write the golden files, and fail")

// lenderOf returns a Lender of a cluster in which the role that is lent has rules. If refusal is set, the server refuses
// the delegation.
func lenderOf(rules []rbacv1.PolicyRule, refusal error, objects ...runtime.Object) *lend.Lender {
	isDelegation := func(o runtime.Object) bool { _, ok := o.(*v1alpha1.AuthorityDelegation); return ok }
	var delegations []runtime.Object
	for _, o := range objects {
		if isDelegation(o) {
			delegations = append(delegations, o)
		}
	}
	objects = slices.DeleteFunc(slices.Clone(objects), isDelegation)
	client := fake.NewClientset(append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "agents"}})...)
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "jane"}}}, nil
	})
	authority := authorityfake.NewSimpleClientset(delegations...)
	authority.PrependReactor("create", "authoritydelegations", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if dry := action.(clienttesting.CreateActionImpl).CreateOptions.DryRun; len(dry) != 1 || dry[0] != metav1.DryRunAll {
			return true, nil, errors.New("a plan makes nothing")
		}
		return true, &v1alpha1.AuthorityDelegation{Status: v1alpha1.AuthorityDelegationStatus{Rules: rules}}, refusal
	})
	return &lend.Lender{Client: client, Authority: authority.AuthorityV1alpha1(), Now: func() time.Time { return time.Unix(1, 0) }}
}

func roleFor(kind rbacv1.Subject, name, verb, group, resource string) []runtime.Object {
	meta := metav1.ObjectMeta{Name: name}
	return []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}, Subjects: []rbacv1.Subject{kind}},
	}
}

// TestLendPlan compares the plan of lend with golden files: what the account will be able to do, what surprises,
// and who else could use the account.
func TestLendPlan(t *testing.T) {
	person := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	account := func(namespace, name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	scale := []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web"}},
		{Verbs: []string{"get", "update", "patch"}, APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"web"}},
	}
	components := append(append(append(roleFor(rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:masters"}, "cluster-admin", "*", "*", "*"),
		roleFor(person("system:kube-controller-manager"), "kcm", "create", "", "serviceaccounts/token")...),
		roleFor(account("kube-system", "deployment-controller"), "dc", "update", "apps", "deployments")...),
		roleFor(person("jane"), "jane", "*", "*", "*")...)
	var all []runtime.Object
	for _, one := range []struct {
		name, verb, group, resource string
	}{
		{"pods", "create", "", "pods"}, {"tokens", "create", "", "serviceaccounts/token"}, {"secrets", "get", "", "secrets"}, {"lists", "list", "", "secrets"},
		{"watches", "watch", "", "secrets"}, {"acts-as", "impersonate", "", "serviceaccounts"}, {"acts-as-users", "impersonate", "", "users"},
		{"executes", "create", "", "pods/exec"}, {"attaches", "create", "", "pods/attach"}, {"asks-kubelets", "get", "", "nodes/proxy"},
		{"debugs", "patch", "", "pods/ephemeralcontainers"},
		{"becomes", "impersonate:serviceaccount", "authentication.k8s.io", "serviceaccounts"},
		{"creates", "create", "batch", "cronjobs"}, {"updates", "update", "apps", "statefulsets"}, {"patches", "patch", "apps", "deployments"},
		{"harmless", "get", "", "pods"}, {"harmless-too", "list", "apps", "deployments"},
	} {
		all = append(all, roleFor(person(one.name), one.name, one.verb, one.group, one.resource)...)
	}
	group := rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:agents"}
	own := append(roleFor(account("agents", "scaler"), "left", "get", "", "pods"), roleFor(group, "all", "get", "", "pods")...)
	// An earlier loan of the same lender: its account builds in the namespace of the new one.
	builder := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "lent-agents-builder"}}
	builder.Spec.Scope.Namespace = "agents"
	builder.Spec.Delegates = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "builder"}}
	builder.Status.Delegator.Username = "jane"
	builder.Status.Rules = []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	everything := []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}
	for name, tc := range map[string]struct {
		lender  *lend.Lender
		cluster bool
	}{
		"nobody else": {lender: lenderOf(scale, nil, components...)},
		"others":      {lender: lenderOf(scale, nil, append(components, all...)...)},
		"delegates":   {lender: lenderOf(scale, nil, append(components, builder)...)},
		"everything":  {lender: lenderOf(everything, nil, components...), cluster: true},
		"own":         {lender: lenderOf(scale, nil, slices.Concat(components, own)...)},
		"not known":   {lender: unreadable(lenderOf(scale, nil))},
	} {
		t.Run(name, func(t *testing.T) {
			terms := &lend.Terms{Account: lend.Account{Namespace: "agents", Name: "scaler"}, Role: &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "r"},
				Scope: v1alpha1.DelegationScope{Namespace: "shop"}, Until: time.Unix(7200, 0)}
			if tc.cluster {
				terms.Scope = v1alpha1.DelegationScope{Cluster: true}
			}
			plan, err := tc.lender.Plan(t.Context(), terms)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			page := printing.NewPage(&out, true)
			if err := errors.Join(printPlan(page, terms, plan), page.Close()); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "lend "+name+".golden")
			if *update {
				if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, out.Bytes(), 0o644)); err != nil {
					t.Fatal(err)
				}
				t.Fatal("wrote", golden, "- look at it, and run the test without -update")
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLendPlanPartly checks that a plan shows who is known to be able to use the account, and that others can be missing.
func TestLendPlanPartly(t *testing.T) {
	var out bytes.Buffer
	page := printing.NewPage(&out, true)
	minter := lend.Other{Subject: "User minter", By: "create pods", Binding: "RoleBinding a/b"}
	plan := &lend.Plan{Unknown: "delegations can't be listed", Others: []lend.Other{minter}}
	if err := errors.Join(printPlan(page, &lend.Terms{}, plan), page.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"User minter   create pods   RoleBinding a/b", "It is not known who else could use the service account: delegations can't be listed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s, wanted %q", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "nobody else") {
		t.Error(out.String())
	}
}

// TestLendFlags checks that no flag is ignored: a combination that means nothing is an error, and nothing is asked of the
// server. A dry run of each action makes and removes nothing.
func TestLendFlags(t *testing.T) {
	making := []string{"--role", "clusterrole/r", "--to", "a/b"}
	for says, args := range map[string][]string{
		"[list dry-run]":                        {"--list", "--dry-run"},
		"[show output]":                         {"--show", "a/b", "--output", "f"},
		"[revoke for]":                          {"--revoke", "a/b", "--for", "2h"},
		"[renew to]":                            {"--renew", "a/b", "--to", "a/c"},
		"[revoke yes]":                          {"--revoke", "a/b", "--yes"},
		"[role list show renew revoke]":         {"--revoke", "a/b", "--renew", "a/b"},
		"[output print]":                        append([]string{"--output", "f", "--print"}, making...),
		"--revoke prints no objects":            {"--revoke", "a/b", "-o", "yaml"},
		"name a new file for the kubeconfig":    {"--renew", "a/b"},
		"lend for a minute or longer":           {"--renew", "a/b", "--for", "1s", "--dry-run"},
		"--reason: a reason must not be longer": append([]string{"--dry-run", "--reason", strings.Repeat("x", 257)}, making...),
		"--role and --to are missing":           {"--dry-run"},
		`--format: "xml" is not supported, use`: {"--list", "-o", "xml"},
	} {
		cmd := newLend(&options{})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(args)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, wanted %q", args, err, says)
		}
	}
}

// unreadable makes the bindings unreadable.
func unreadable(l *lend.Lender) *lend.Lender {
	l.Client.(*fake.Clientset).PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("bindings can't be listed")
	})
	return l
}

// TestLendPlanRefused checks that there is no plan where the server would refuse the delegation, or the account can't be made.
func TestLendPlanRefused(t *testing.T) {
	taken := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "scaler"}}
	for says, tc := range map[string]struct {
		lender    *lend.Lender
		namespace string
	}{
		"the server would refuse the delegation":   {lenderOf(nil, errors.New("not held")), "agents"},
		"the service account agents/scaler exists": {lenderOf(nil, nil, taken), "agents"},
		"the namespace none does not exist":        {lenderOf(nil, nil), "none"},
	} {
		_, err := tc.lender.Plan(context.Background(), &lend.Terms{Account: lend.Account{Namespace: tc.namespace, Name: "scaler"}, Until: time.Unix(7200, 0)})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, wanted %q", err, says)
		}
	}
}
