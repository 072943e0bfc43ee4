// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

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

// TestOthers holds who is listed as able to use an account, and that without one of its verbs nobody is.
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
	} {
		t.Run(tc.resource+" "+strings.Join(tc.verbs, " "), func(t *testing.T) {
			client := fake.NewClientset(
				&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "r"}, Rules: []rbacv1.PolicyRule{
					{Verbs: tc.verbs, APIGroups: []string{"", "apps"}, Resources: []string{tc.resource}}}},
				&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "b"},
					RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
					Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}},
			)
			client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &authenticationv1.SelfSubjectReview{}, nil
			})
			var plan Plan
			if err := (&Lender{Client: client}).readRBAC(t.Context(), Account{Namespace: "agents", Name: "bot"}, &plan); err != nil {
				t.Fatal(err)
			}
			var want []Other
			if tc.want != "" {
				want = []Other{{"User jane", tc.want, "RoleBinding agents/b"}}
			}
			if diff := cmp.Diff(want, plan.Others); diff != "" {
				t.Error(diff)
			}
		})
	}
}
