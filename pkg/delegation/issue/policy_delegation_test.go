// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

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
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// noOpinion is an authorizer without an opinion about any request.
type noOpinion struct{}

func (noOpinion) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// TestManyExpired checks that an author gets a delegation of a policy also if many delegations of
// the same content have expired because they were not used, and are kept because objects name them.
func TestManyExpired(t *testing.T) {
	index := delegation.NewIndex()
	index.Connect(delegation.Sources{Namespace: func(name string) types.UID { return types.UID(name) }})
	rules := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	client := fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "alice"}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"}})
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
	issuer := &Issuer{Delegations: index, Cached: storage{client}.rbacReaders(), Authorizer: noOpinion{}, Now: time.Now}
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
		old.Name, old.UID, old.ResourceVersion = contentNames(want)(attempt), types.UID(contentNames(want)(attempt)), "1"
		index.Observe(old, false)
	}
	for i := range 100 {
		expire(i)
	}
	got, err := write.delegationFor(p, "n")
	if err != nil || made != 1 || got.Name != contentNames(want)(100) {
		t.Fatalf("made %d delegations, the last of them %+v: %v", made, got, err)
	}
	for i := 100; i < maxAttempts; i++ {
		expire(i)
	}
	if _, err := write.delegationFor(p, "n"); !apierrors.IsServiceUnavailable(err) || made != 1 {
		t.Errorf("all names are taken: %v", err)
	}
}
