// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

var policies = v1alpha1.SchemeGroupVersion.WithResource("authoritydelegationpolicies")

// late is a server that learns of roles, bindings and policies late: at the third question about them.
type late struct {
	*Server
	reviews, probes int
	// deleted are the names of deleted policies and delegations.
	deleted []string
}

func newLate(t *testing.T) *late {
	t.Helper()
	meta1 := metav1.ObjectMeta{Name: sentinel}
	kube := fake.NewClientset(&rbacv1.ClusterRole{ObjectMeta: meta1},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: sentinel, Namespace: sentinelNamespace}})
	delegations := v1alpha1.SchemeGroupVersion.WithResource("authoritydelegations")
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{policies: "AuthorityDelegationPolicyList", delegations: "AuthorityDelegationList", configMaps: "ConfigMapList"},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "AuthorityDelegation", "metadata": map[string]any{"name": "by-policy"}}})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.SchemeGroupVersion})
	mapper.Add(v1alpha1.SchemeGroupVersion.WithKind(policyKind), meta.RESTScopeRoot)
	out := &late{Server: &Server{kube: kube, objects: objects, mapper: mapper,
		resources: sets.New(kinds.Qualified(delegations.Group, delegations.Resource))}}
	kube.PrependReactor("create", "subjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		out.reviews++
		return true, &authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: out.reviews > 2}}, nil
	})
	objects.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list, err := objects.Tracker().List(policies, policies.GroupVersion().WithKind(policyKind), "")
		if err != nil {
			return true, nil, err
		}
		object := action.(clienttesting.CreateAction).GetObject().DeepCopyObject().(*unstructured.Unstructured)
		if out.probes++; out.probes > 2 {
			for _, one := range list.(*unstructured.UnstructuredList).Items {
				object.SetAnnotations(map[string]string{"configmaps" + selection.StampSuffix + "/" + one.GetName(): "{}"})
			}
		}
		return true, object, nil
	})
	objects.PrependReactor("delete", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		out.deleted = append(out.deleted, action.(clienttesting.DeleteAction).GetName())
		return false, nil, nil
	})
	return out
}

func object(apiVersion, kind string, creator *format.Subject) format.Object {
	return format.Object{As: creator, Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a"}}}}
}

// TestSettle holds for which objects the server is waited for, at the end of which phase: also for those that
// users of the test create, after the administrator.
func TestSettle(t *testing.T) {
	const rbac, authority = "rbac.authorization.k8s.io/v1", "authority.kube-granular.dev/v1alpha1"
	jane := &format.Subject{User: "jane"}
	for name, tc := range map[string]struct {
		object       format.Object
		phase        int
		roles, stamp bool
	}{
		"a binding":               {object(rbac, "RoleBinding", nil), 3, true, false},
		"a binding by a user":     {object(rbac, "RoleBinding", jane), 5, true, false},
		"a map by a user":         {object("v1", "ConfigMap", jane), 5, false, false},
		"a policy":                {object(authority, policyKind, nil), 4, false, true},
		"a policy by a user":      {object(authority, policyKind, jane), 4, false, true},
		"a policy of other kinds": {object("example.com/v1", policyKind, nil), 4, false, false},
	} {
		s := newLate(t)
		g := &given{server: s.Server, test: &format.Test{Objects: []format.Object{tc.object}}}
		if err := g.settle(t.Context(), tc.phase); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.reviews > 2 != tc.roles || s.probes > 2 != tc.stamp || s.probes > 0 && len(s.deleted) != 1 {
			t.Errorf("%s: %d questions about roles, %d about policies, deleted %v", name, s.reviews, s.probes, s.deleted)
		}
	}
}

// TestForget holds that the server has forgotten the bindings and policies of a test, and the delegations that
// policies made, before the next test begins.
func TestForget(t *testing.T) {
	s := newLate(t)
	policy := object("authority.kube-granular.dev/v1alpha1", policyKind, nil)
	g := &given{server: s.Server, test: &format.Test{Objects: []format.Object{policy}}, created: []*format.Object{&policy}}
	if err := g.forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.reviews < 3 || s.probes < 3 || len(s.deleted) != 2 || s.deleted[0] != "by-policy" {
		t.Errorf("%d questions about roles, %d about policies, deleted %v", s.reviews, s.probes, s.deleted)
	}
}
