// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityfake "kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

// TestCodePermissions holds that codePermissions are those that cover the service account or an image in some workload.
func TestCodePermissions(t *testing.T) {
	all := schema.NewModels(modelstest.BuiltIn())
	found := map[string]bool{}
	for kind, path := range map[string]string{
		"core.v1.Pod": "spec", "core.v1.ReplicationController": "spec.template.spec", "apps.v1.Deployment": "spec.template.spec",
		"apps.v1.DaemonSet": "spec.template.spec", "apps.v1.StatefulSet": "spec.template.spec", "apps.v1.ReplicaSet": "spec.template.spec",
		"batch.v1.Job": "spec.template.spec", "batch.v1.CronJob": "spec.jobTemplate.spec.template.spec",
	} {
		tree, err := all.Compile("io.k8s.api." + kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"serviceAccountName", "containers.*.image", "initContainers.*.image", "ephemeralContainers.*.image"} {
			var steps []schema.Step
			for name := range strings.SplitSeq(path+"."+field, ".") {
				steps = append(steps, schema.Step{Field: strings.Trim(name, "*"), Elem: name == "*"})
			}
			candidates, _ := decide.Candidates(tree.Nearest(steps))
			for _, p := range candidates {
				found[p.Name] = true
			}
			if len(candidates) == 0 {
				t.Errorf("%s: no permission covers %s", kind, field)
			}
		}
	}
	var want []string
	for name := range found {
		want = append(want, name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(codePermissions))); diff != "" {
		t.Errorf("-covers, +listed:\n%s", diff)
	}
}

// TestOthers holds who is listed as able to use an account, by a binding or by a delegation, and that without one of its verbs
// nobody is.
//
// Attack: a delegate, such as an earlier loan of the same lender, may create pods in the namespace of an account, and the account is lent
// Answer: it is listed, and nothing is lent without --yes
// Was: got through
func TestOthers(t *testing.T) {
	for _, tc := range []struct {
		resource string
		verbs    []string
		want     string
	}{
		{"deployments", []string{"granular", "granular:podTemplateContainer(web)"}, "granular:podTemplateContainer(web) deployments"},
		{"deployments", []string{"granular:podTemplateContainer(web)"}, ""},
		{"deployments", []string{"granular"}, ""},
		{"deployments", []string{"granular", "granular:replicas"}, ""},
		{"deployments", []string{"update"}, "update deployments"},
		{"pods", []string{"granular", "granular:specification"}, "granular:specification pods"},
		{"pods", []string{"patch"}, "patch pods"},
		{"pods", []string{"create"}, "create pods"},
		{"pods", []string{"get"}, ""},
		{"pods/attach", []string{"create"}, "create pods/attach"},
		{"pods/attach", []string{"get"}, "get pods/attach"},
		{"pods/log", []string{"get"}, ""},
		{"pods/ephemeralcontainers", []string{"granular", "granular:ephemeralContainerImage"},
			"granular:ephemeralContainerImage pods/ephemeralcontainers"},
		{"pods/ephemeralcontainers", []string{"granular:ephemeralContainerImage"}, ""},
		{"nodes/proxy", []string{"create"}, "create nodes/proxy"},
		{"nodes/proxy", []string{"get"}, "get nodes/proxy"},
		{"nodes", []string{"get"}, ""},
	} {
		t.Run(tc.resource+" "+strings.Join(tc.verbs, " "), func(t *testing.T) {
			rules := []rbacv1.PolicyRule{{Verbs: tc.verbs, APIGroups: []string{"", "apps"}, Resources: []string{tc.resource}}}
			role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}
			jane := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}
			bound := []runtime.Object{
				&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules},
				&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "b"}, RoleRef: role, Subjects: jane},
			}
			here, everywhere := "RoleBinding agents/b", v1alpha1.DelegationScope{Namespace: "agents"}
			if strings.HasPrefix(tc.resource, "nodes") { // a binding in a namespace gives nothing of a node
				bound[1] = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: role, Subjects: jane}
				here, everywhere = "ClusterRoleBinding b", v1alpha1.DelegationScope{Cluster: true}
			}
			others := func(bindings []runtime.Object, delegations ...runtime.Object) []Other {
				client := fake.NewClientset(bindings...)
				client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, &authenticationv1.SelfSubjectReview{}, nil
				})
				l := &Lender{Client: client, Authority: authorityfake.NewSimpleClientset(delegations...).AuthorityV1alpha1(), Now: time.Now}
				var plan Plan
				if err := l.readOthers(t.Context(), Account{Namespace: "agents", Name: "bot"}, nil, &plan); err != nil {
					t.Fatal(err)
				}
				return plan.Others
			}
			d := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: v1alpha1.AuthorityDelegationSpec{Scope: everywhere,
				Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "builder"}}}}
			d.Status.Rules = rules
			elsewhere, ended, own := d.DeepCopy(), d.DeepCopy(), d.DeepCopy()
			elsewhere.Spec.Scope = v1alpha1.DelegationScope{Namespace: "shop"}
			ended.Status.ExpirationTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			own.Spec.Delegates[0].Name = "bot"
			var byBinding, byDelegation []Other
			if tc.want != "" {
				byBinding = []Other{{"User jane", tc.want, here}}
				byDelegation = []Other{{"ServiceAccount agents/builder", tc.want, "AuthorityDelegation d"}}
			}
			for name, both := range map[string][2][]Other{
				"a binding":              {byBinding, others(bound)},
				"a delegation":           {byDelegation, others(nil, d)},
				"a delegation elsewhere": {nil, others(nil, elsewhere)},
				"an ended delegation":    {nil, others(nil, ended)},
				"the account itself":     {nil, others(nil, own)},
			} {
				if diff := cmp.Diff(both[0], both[1]); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			bound[1] = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "b"}, RoleRef: role, Subjects: jane}
			if found := others(bound); strings.HasPrefix(tc.resource, "nodes") && len(found) > 0 {
				t.Errorf("a binding in a namespace: %v", found)
			}
		})
	}
}

// TestOthersUnread checks that those who are found by bindings stay in the list if delegations can't be read, and that a plan says so.
func TestOthersUnread(t *testing.T) {
	client := fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}}},
	)
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{}, nil
	})
	authority := authorityfake.NewSimpleClientset()
	authority.PrependReactor("list", "authoritydelegations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("they can't be listed")
	})
	l := &Lender{Client: client, Authority: authority.AuthorityV1alpha1(), Now: time.Now}
	plan, err := l.planOf(t.Context(), Account{Namespace: "agents", Name: "bot"}, &v1alpha1.AuthorityDelegation{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Others) != 1 || plan.Unknown != "read authoritydelegations: they can't be listed" {
		t.Errorf("%+v", plan)
	}
}
