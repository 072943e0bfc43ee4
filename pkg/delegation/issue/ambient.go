// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// maxAmbient is the maximum number of bindings that Ambient names.
const maxAmbient = 5

// Ambient returns a problem if RBAC gives a bound service account permissions of its own. They do not
// count while the account is bound. But they count on a server without the feature gate, and when the
// binding is gone. account is the user name of the account.
func (d *Issuer) Ambient(account string) []string {
	namespace, name, err := serviceaccount.SplitUsername(account)
	if err != nil {
		return nil
	}
	var found []string
	more := 0
	add := func(subjects []rbacv1.Subject, where, what string) {
		for i := range subjects {
			if !names(&subjects[i], where, namespace, name) {
				continue
			}
			if len(found) == maxAmbient {
				more++
			} else {
				found = append(found, what)
			}
			return
		}
	}
	ctx := context.Background()
	if all, err := d.Cached.ListClusterRoleBindings(ctx); err == nil {
		for _, b := range all {
			add(b.Subjects, "", fmt.Sprintf("ClusterRoleBinding %q", b.Name))
		}
	}
	if all, err := d.Cached.ListRoleBindings(ctx, metav1.NamespaceAll); err == nil {
		for _, b := range all {
			add(b.Subjects, b.Namespace, fmt.Sprintf("RoleBinding %q", b.Namespace+"/"+b.Name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	text := fmt.Sprintf("Ambient: the service account %s/%s, which acts under this delegation, also has permissions of its own, by %q",
		namespace, name, found)
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []string{text + ". They do not count while it is bound, but they do on a server without the feature gate and after its release"}
}

// names reports whether a subject of a binding in a namespace is a service account, or the group of the
// service accounts of its namespace.
func names(s *rbacv1.Subject, where, namespace, name string) bool {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			where = s.Namespace
		}
		return where == namespace && s.Name == name
	case rbacv1.UserKind:
		return serviceaccount.MatchesUsername(namespace, name, s.Name)
	case rbacv1.GroupKind:
		return s.Name == serviceaccount.MakeNamespaceGroupName(namespace)
	}
	return false
}
