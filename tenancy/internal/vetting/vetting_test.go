// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package vetting_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/tenancy/internal/vetting"
)

func cluster(version, verb string, resources ...string) vetting.List {
	list := &metav1.APIResourceList{GroupVersion: "apps/v1"}
	for _, r := range resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r, Namespaced: true})
	}
	role := rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", verb}}}}
	role.Name = "edit"
	return vetting.NewList(version, []*metav1.APIResourceList{list}, []rbacv1.ClusterRole{role})
}

func TestGains(t *testing.T) {
	vetted := cluster("v1.37.1+granular", "update", "deployments")
	for name, tc := range map[string]struct {
		now  vetting.List
		want []string
	}{
		"nothing": {cluster("v1.37.1", "update", "deployments"), nil},
		"less":    {cluster("v1.37.1", "get"), nil},
		"a version": {cluster("v1.37.2", "update", "deployments"),
			[]string{"version: vetted is v1.37.1, the cluster is v1.37.2"}},
		"a verb": {cluster("v1.37.1", "delete", "deployments"), []string{"edit: apps/deployments delete"}},
		"a resource": {cluster("v1.37.1", "update", "deployments", "things"),
			[]string{"resource: apps/things namespaced"}},
	} {
		if got := vetting.Gains(vetted, tc.now); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOwnResourcesAreNoGain checks that the resources of this project are in no list, and that a group
// with a similar name is.
func TestOwnResourcesAreNoGain(t *testing.T) {
	list := func(group string) *metav1.APIResourceList {
		return &metav1.APIResourceList{GroupVersion: group + "/v1alpha1", APIResources: []metav1.APIResource{{Name: "things", Namespaced: true}}}
	}
	got := vetting.NewList("v1.37.1", []*metav1.APIResourceList{list("tenancy.kube-granular.dev"), list("authority.kube-granular.dev"), list("other.kube-granular.dev")}, nil)
	if want := []string{"other.kube-granular.dev/things namespaced"}; !slices.Equal(got.Resources, want) {
		t.Errorf("%v", got.Resources)
	}
}

// TestListMovesWithKubernetes checks that the list in docs/vetted is for the version of Kubernetes
// in go.mod.
func TestListMovesWithKubernetes(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v[0-9.]+)`).FindSubmatch(mod)
	if m == nil {
		t.Fatal("go.mod names no k8s.io/kubernetes")
	}
	text, err := os.ReadFile("../../../docs/vetted/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l := vetting.List{}
	if err := yaml.UnmarshalStrict(text, &l); err != nil {
		t.Fatal(err)
	}
	if l.Version != string(m[1]) || len(l.Resources) < 100 || len(l.Rules["edit"]) < 100 || len(l.Rules["admin"]) < len(l.Rules["edit"]) {
		t.Errorf("docs/vetted is for %s and has %d resources, but go.mod requires %s: review what users gain, and write the list anew", l.Version, len(l.Resources), m[1])
	}
}
