// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestRoleSnapshot checks the rules of a role that a delegation copies, and that nobody learns of a role that it may not
// get: what is wrong with the role, or whether there is one.
func TestRoleSnapshot(t *testing.T) {
	pods := rules(on("pods", "get"))
	metrics := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}
	named := func(kind, name string) v1alpha1.DelegatedRole { return v1alpha1.DelegatedRole{Kind: kind, Name: name} }
	unknown := refusal{apierrors.IsForbidden, "or it does not exist"}
	for name, tc := range map[string]struct {
		kind, role string
		cluster    bool
		may        []string
		fails      []string
		refusal
		want      *v1alpha1.SnapshotRole
		wantRules []rbacv1.PolicyRule
	}{
		"a ClusterRole":        {kind: "ClusterRole", role: "pods", want: &v1alpha1.SnapshotRole{DelegatedRole: named("ClusterRole", "pods"), UID: "pods-uid", ResourceVersion: "7"}, wantRules: pods},
		"a Role":               {kind: "Role", role: "local", want: &v1alpha1.SnapshotRole{DelegatedRole: named("Role", "local"), Namespace: "n", UID: "l-uid", ResourceVersion: "8"}, wantRules: pods},
		"URLs, in a namespace": {kind: "ClusterRole", role: "mixed", want: &v1alpha1.SnapshotRole{DelegatedRole: named("ClusterRole", "mixed"), UID: "mixed-uid", ResourceVersion: "7"}, wantRules: pods},
		"URLs, in the cluster": {kind: "ClusterRole", role: "mixed", cluster: true, want: &v1alpha1.SnapshotRole{DelegatedRole: named("ClusterRole", "mixed"), UID: "mixed-uid", ResourceVersion: "7"}, wantRules: append(rules(metrics), pods...)},
		"missing":              {kind: "ClusterRole", role: "gone", refusal: unknown},
		"missing, but could be read": {kind: "ClusterRole", role: "gone", may: []string{"get clusterroles.rbac.authorization.k8s.io /gone"},
			refusal: refusal{apierrors.IsInvalid, `spec.roleRef.name: Not found: "gone"`}},
		"missing, no answer":     {kind: "ClusterRole", role: "gone", fails: []string{"get clusterroles.rbac.authorization.k8s.io /gone"}, refusal: unknown},
		"a Role that is missing": {kind: "Role", role: "gone", may: []string{"get clusterroles.rbac.authorization.k8s.io /gone"}, refusal: unknown},
		"a Role that is missing, but could be read": {kind: "Role", role: "gone", may: []string{"get roles.rbac.authorization.k8s.io n/gone"},
			refusal: refusal{apierrors.IsInvalid, "spec.roleRef.name: Not found"}},
		"without rules":                    {kind: "ClusterRole", role: "empty", refusal: unknown},
		"without rules, but could be read": {kind: "ClusterRole", role: "empty", may: []string{"get clusterroles.rbac.authorization.k8s.io /empty"}, refusal: refusal{apierrors.IsInvalid, "has no rules"}},
		"wrong rules":                      {kind: "ClusterRole", role: "wrong", refusal: unknown},
		"wrong rules, but could be read": {kind: "ClusterRole", role: "wrong", may: []string{"get clusterroles.rbac.authorization.k8s.io /wrong"},
			refusal: refusal{apierrors.IsInvalid, "has rules that can't be delegated"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, clusterRole("pods", pods), clusterRole("mixed", append(rules(metrics), pods...)), clusterRole("empty", nil),
				clusterRole("wrong", rules(rbacv1.PolicyRule{Verbs: []string{"get"}})),
				&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "local", UID: "l-uid", ResourceVersion: "8"}, Rules: pods})
			s.requests, s.fails = tc.may, tc.fails
			d := wanted()
			d.Spec.Rules, d.Spec.RoleRef = nil, &v1alpha1.DelegatedRole{Kind: tc.kind, Name: tc.role}
			if tc.cluster {
				d.Spec.Scope = v1alpha1.DelegationScope{Cluster: true}
			}
			tc.check(t, s.issuer.snapshotRules(s.by(&user.DefaultInfo{Name: "eve"}), d))
			same(t, "role", tc.want, d.Status.Role)
			same(t, "rules", tc.wantRules, d.Status.Rules)
		})
	}
	s, d := newScene(t), wanted()
	refusal{}.check(t, s.issuer.snapshotRules(s.by(&user.DefaultInfo{Name: "eve"}), d))
	if d.Spec.Rules[0].Verbs[0] = "*"; d.Status.Rules[0].Verbs[0] != "get" {
		t.Error("the rules of the status share memory with those of the specification")
	}
}

// TestRoleUnreadable checks that a role that can't be read is an error, and says nothing of what the caller may do.
func TestRoleUnreadable(t *testing.T) {
	for _, kind := range []string{"ClusterRole", "Role"} {
		s, d := newScene(t), wanted()
		s.broken("get", "*")
		d.Spec.Rules, d.Spec.RoleRef = nil, &v1alpha1.DelegatedRole{Kind: kind, Name: "pods"}
		refusal{apierrors.IsInternalError, "broken"}.check(t, s.issuer.snapshotRules(s.by(&user.DefaultInfo{Name: "eve"}), d))
	}
}
