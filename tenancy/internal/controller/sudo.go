// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/internal/names"
	"kube-granular.dev/tenancy/internal/sudorules"
)

// adminRole is the ClusterRole of administrators of a namespace.
const adminRole = "admin"

// Sudo is the reconciler of the rules of sudo, which all sudoers have in the namespace of their
// tenant. It updates the rules when the API resources in discovery change.
type Sudo struct {
	writer
	// Discovery reads the API resources of the cluster.
	Discovery discovery.DiscoveryInterface
	// Every is the interval at which discovery is read, in addition to reads after changes of
	// CustomResourceDefinitions and APIServices. A read just after such a change may miss it,
	// because the server serves the change only a moment later.
	Every time.Duration
	// delegations manages the delegations of sudo, and gets the rules for them from Sudo. It is
	// nil if sudo works by impersonation.
	delegations *delegations
}

// Reconcile computes all ClusterRoles of sudo from discovery and the role admin, and writes them.
// It ignores the request, because all requests are for all roles.
func (r *Sudo) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	_, lists, err := r.Discovery.ServerGroupsAndResources()
	failed := map[string]bool{}
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partial):
		for gv := range partial.Groups {
			failed[gv.Group] = true
		}
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("discovery: %w", err)
	}
	admin := &rbacv1.ClusterRole{}
	if err := r.live.Get(ctx, client.ObjectKey{Name: adminRole}, admin); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	rules := sudorules.For(lists, admin.Rules)
	if len(failed) > 0 {
		old := &rbacv1.ClusterRole{}
		if err := r.Get(ctx, client.ObjectKey{Name: names.SudoRole}, old); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		rules = append(rules, sudorules.KeepFailedGroups(old.Rules, failed)...)
	}
	closed, unread := r.closed(ctx, lists, rules) // a report that is not complete stops no rules
	for name, rules := range map[string][]rbacv1.PolicyRule{
		names.SudoRole:          rules,
		names.SudoQuotasRole:    sudorules.Quotas(),
		names.SudoNamespaceRole: sudorules.Namespace(),
	} {
		role := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{names.ManagedBy: names.Manager}},
			Rules:      rules,
		}
		if name == names.SudoRole {
			role.Annotations = closed
		}
		if _, err := r.ensure(ctx, role); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.delegations.setRules(rules); err != nil {
		return reconcile.Result{}, err
	}
	if r.delegations == nil && isServed(lists, authority.SchemeGroupVersion.String(), "authoritydelegations") {
		if err := deleteAllDelegations(ctx, r.writer); err != nil {
			return reconcile.Result{}, err
		}
	}
	if unread != nil {
		return reconcile.Result{}, unread
	}
	return reconcile.Result{RequeueAfter: r.Every}, nil
}

// closed returns the annotation that says which fields FieldPermissions keep from sudo. On a server without
// FieldPermissions there is none, unless an earlier one has to be emptied.
func (r *Sudo) closed(ctx context.Context, lists []*metav1.APIResourceList, rules []rbacv1.PolicyRule) (map[string]string, error) {
	if !isServed(lists, authority.SchemeGroupVersion.String(), "fieldpermissions") {
		old := &rbacv1.ClusterRole{}
		if err := r.Get(ctx, client.ObjectKey{Name: names.SudoRole}, old); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if old.Annotations[names.ClosedToSudo] == "" {
			return nil, nil
		}
		return map[string]string{names.ClosedToSudo: ""}, nil
	}
	all := &authority.FieldPermissionList{}
	if err := r.live.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list FieldPermissions: %w", err)
	}
	return map[string]string{names.ClosedToSudo: sudorules.Closed(all.Items, rules)}, nil
}

func isServed(lists []*metav1.APIResourceList, version, resource string) bool {
	return slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
		return list.GroupVersion == version && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
	})
}
