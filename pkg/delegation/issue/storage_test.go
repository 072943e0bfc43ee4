// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TestStorageFails checks that nobody counts as holding rules if roles or bindings can't be read.
func TestStorageFails(t *testing.T) {
	for name, tc := range map[string]struct {
		verb, resource string
		refused        bool
	}{
		"all is read":         {"delete", "pods", false},
		"no cluster role":     {"get", "clusterroles", true},
		"no cluster bindings": {"list", "clusterrolebindings", true},
		"no bindings":         {"list", "rolebindings", true},
		"no role":             {"get", "roles", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := newScene(t, clusterRole("reader", readPods),
				&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "other"}},
					RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"}},
				&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "local"}, Rules: readPods[:1]},
				binding("n", "a", "ClusterRole", "reader", "alice"), binding("n", "b", "Role", "local", "bob"), binding("other", "c", "ClusterRole", "reader", "eve")), wanted()
			s.broken(tc.verb, tc.resource)
			d.Status.Rules = d.Spec.Rules
			err := s.issuer.confirmHeld(s.by(&user.DefaultInfo{Name: "alice"}), d, nil)
			if refused := tc.refused && tc.resource != "roles" && tc.resource != "clusterrolebindings"; (err != nil) != refused {
				t.Errorf("alice, by a cluster role in the namespace: %v", err)
			}
			err = s.issuer.confirmHeld(s.by(&user.DefaultInfo{Name: "bob"}), d, nil)
			if refused := tc.refused && tc.resource != "clusterroles" && tc.resource != "clusterrolebindings"; (err != nil) != refused {
				t.Errorf("bob, by a role: %v", err)
			}
			err = s.issuer.confirmHeld(s.by(&user.DefaultInfo{Name: "eve"}), d, nil)
			if err == nil {
				t.Error("eve, by a role in another namespace")
			}
			// A refusal says that not all could be read, where that matters to the caller.
			d.Status.Rules = rules(on("secrets", "get"))
			caller := map[string]string{"roles": "bob"}[tc.resource]
			if caller == "" {
				caller = "alice"
			}
			err = s.issuer.confirmHeld(s.by(&user.DefaultInfo{Name: caller}), d, nil)
			if err == nil || strings.Contains(err.Error(), "storage is broken") != tc.refused {
				t.Errorf("what %s does not hold: %v", caller, err)
			}
		})
	}
}
