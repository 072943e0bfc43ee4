// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// TestManyExpired checks that an author gets a delegation of a policy also if many delegations of
// the same content have expired because they were not used, and are kept because objects name them.
func TestManyExpired(t *testing.T) {
	index := delegation.NewIndex()
	index.Namespace = func(name string) types.UID { return types.UID(name) }
	objects := newPolicy()
	rules := []rbacv1.PolicyRule{on("get", "pods")}
	put(t, objects.clusterRoles, clusterRole("reader", rules...))
	put(t, objects.clusterRoleBindings, clusterBinding("reader", "reader", named("alice")))
	idle := int64(60)
	p := policy.Compile(&v1alpha1.AuthorityDelegationPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{
			Resource: v1alpha1.GroupResource{Resource: "configmaps"}, Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
			Rules: rules, IdleSeconds: &idle, IfLost: v1alpha1.LossWithdraw,
		},
		Status: v1alpha1.AuthorityDelegationPolicyStatus{Rules: rules},
	})
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "alice"})
	issuer := &Issuer{Delegations: index, Cached: seam.Policy{
		RoleGetter:               &rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(objects.roles.GetIndexer())},
		ClusterRoleGetter:        &rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(objects.clusterRoles.GetIndexer())},
		RoleBindingLister:        &rbac.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(objects.roleBindings.GetIndexer())},
		ClusterRoleBindingLister: &rbac.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(objects.clusterRoleBindings.GetIndexer())},
	}, Authorizer: always(authorizer.DecisionNoOpinion), Now: time.Now}
	made := 0
	write := &policyWrite{ctx: ctx, PolicyIssuer: &PolicyIssuer{Issuer: issuer,
		Create: func(_ context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
			made++
			return d, nil
		}}}
	want, err := issuer.policyDelegation(ctx, p, "n")
	if err != nil {
		t.Fatal(err)
	}
	expire := func(attempt int) {
		old := want.DeepCopy()
		old.Name, old.UID, old.ResourceVersion = contentName(want, attempt), types.UID(contentName(want, attempt)), "1"
		index.Observe(old, false)
	}
	for i := range 100 {
		expire(i)
	}
	got, err := write.delegationFor(p, "n")
	if err != nil || made != 1 || got.Name != contentName(want, 100) {
		t.Fatalf("made %d delegations, the last of them %+v: %v", made, got, err)
	}
	for i := 100; i < maxAttempts; i++ {
		expire(i)
	}
	if _, err := write.delegationFor(p, "n"); !apierrors.IsServiceUnavailable(err) || made != 1 {
		t.Errorf("all names are taken: %v", err)
	}
}
