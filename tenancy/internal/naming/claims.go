// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// ErrClaimed is the error for a name whose service accounts have permissions already.
var ErrClaimed = errors.New("service accounts of this namespace, which does not exist, have permissions already, and whoever creates it would get them")

// Claims returns ErrClaimed if a binding, or a list of another LNamespace, names a service account of
// the namespace. The namespace must not exist.
func Claims(ctx context.Context, api client.Reader, namespace string) error {
	claimed := func(where string) error {
		return fmt.Errorf("the name %q is refused: %w (%s); choose another name, such as %q, or ask an administrator",
			namespace, ErrClaimed, where, proposal(namespace))
	}
	clusterwide := &rbacv1.ClusterRoleBindingList{}
	if err := api.List(ctx, clusterwide); err != nil {
		return fmt.Errorf("list the bindings of the cluster: %w", err)
	}
	for i := range clusterwide.Items {
		if claims(clusterwide.Items[i].Subjects, namespace) {
			return claimed("ClusterRoleBinding " + clusterwide.Items[i].Name)
		}
	}
	bindings := &rbacv1.RoleBindingList{}
	if err := api.List(ctx, bindings); err != nil {
		return fmt.Errorf("list the bindings in all namespaces: %w", err)
	}
	for i := range bindings.Items {
		if claims(bindings.Items[i].Subjects, namespace) {
			return claimed("RoleBinding " + bindings.Items[i].Namespace + "/" + bindings.Items[i].Name)
		}
	}
	tenants := &v1alpha1.LNamespaceList{}
	if err := api.List(ctx, tenants); err != nil {
		return fmt.Errorf("list LNamespaces: %w", err)
	}
	for i := range tenants.Items {
		t := &tenants.Items[i]
		if t.Name == namespace {
			continue
		}
		for _, list := range [][]v1alpha1.Subject{t.Spec.Users, t.Spec.Managers, t.Spec.Sudoers} {
			for _, s := range list {
				if s.Kind == v1alpha1.ServiceAccountKind && s.Namespace == namespace || s.Kind == v1alpha1.GroupKind && s.Name == accounts+namespace {
					return claimed("LNamespace " + t.Name)
				}
			}
		}
	}
	return nil
}

// accounts is the prefix of the group of all service accounts of a namespace, and account that of the
// user name of a service account.
const (
	accounts = "system:serviceaccounts:"
	account  = "system:serviceaccount:"
)

// claims reports whether a subject is a service account of the namespace, or all of them, in any of
// the three ways to write that.
func claims(subjects []rbacv1.Subject, namespace string) bool {
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			if s.Namespace == namespace {
				return true
			}
		case rbacv1.GroupKind:
			if s.Name == accounts+namespace {
				return true
			}
		case rbacv1.UserKind:
			if len(s.Name) > len(account)+len(namespace) && s.Name[:len(account)+len(namespace)+1] == account+namespace+":" {
				return true
			}
		}
	}
	return false
}
