// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityvalidation "kube-granular.dev/api/authority/validation"
)

// snapshotRules copies the rules that are delegated, in their present state, into the status. The
// returned errors reveal nothing about a role that the caller is not allowed to get.
func (d *Issuer) snapshotRules(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	err := d.readRules(ctx, obj)
	switch ref := obj.Spec.RoleRef; {
	case !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err):
		return err
	case !d.mayGetRole(ctx, ref, obj.Spec.Scope.Namespace):
		return forbiddenDelegation(obj, roleNotHeld(ref))
	case apierrors.IsNotFound(err):
		return invalidDelegation(obj, field.NotFound(field.NewPath("spec", "roleRef", "name"), ref.Name))
	default:
		return err
	}
}

// mayGetRole reports whether the caller is allowed the verb get on a role. For a ClusterRole,
// namespace is ignored.
func (d *Issuer) mayGetRole(ctx context.Context, ref *v1alpha1.DelegatedRole, namespace string) bool {
	caller, _ := request.UserFrom(ctx)
	attributes := authorizer.AttributesRecord{
		User: caller, Verb: "get", APIGroup: rbacv1.GroupName, APIVersion: "v1", Resource: "clusterroles", Name: ref.Name, ResourceRequest: true,
	}
	if ref.Kind == v1alpha1.RoleKind {
		attributes.Resource, attributes.Namespace = "roles", namespace
	}
	decision, _, err := d.Authorizer.Authorize(ctx, attributes)
	return err == nil && decision == authorizer.DecisionAllow
}

// roleNotHeld returns the error for a role whose permissions the caller does not hold. A caller who
// is not allowed to get the role receives the same error if the role does not exist.
func roleNotHeld(ref *v1alpha1.DelegatedRole) error {
	return fmt.Errorf("you do not hold all permissions of the %s %q, or it does not exist", ref.Kind, ref.Name)
}

func (d *Issuer) readRules(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	path := field.NewPath("spec")
	ref := obj.Spec.RoleRef
	if ref == nil {
		obj.Status.Rules = (&v1alpha1.AuthorityDelegation{Spec: obj.Spec}).DeepCopy().Spec.Rules
		return nil
	}
	role := &v1alpha1.SnapshotRole{DelegatedRole: *ref}
	var rules []rbacv1.PolicyRule
	if ref.Kind == v1alpha1.RoleKind {
		role.Namespace = obj.Spec.Scope.Namespace
		r, err := d.Client.RbacV1().Roles(role.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		role.UID, role.ResourceVersion, rules = r.UID, r.ResourceVersion, r.Rules
	} else {
		r, err := d.Client.RbacV1().ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		role.UID, role.ResourceVersion, rules = r.UID, r.ResourceVersion, r.Rules
	}
	if !obj.Spec.Scope.Cluster {
		// A RoleBinding to a ClusterRole grants no non-resource URLs.
		rules = slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.NonResourceURLs) > 0 })
	}
	if errs := authorityvalidation.Rules(rules, obj.Spec.Scope, path.Child("roleRef")); len(errs) > 0 {
		return invalidDelegation(obj, field.Invalid(path.Child("roleRef", "name"), ref.Name,
			"has rules that can't be delegated; list the rules in spec.rules instead: "+errs.ToAggregate().Error()))
	}
	if len(rules) == 0 {
		return invalidDelegation(obj, field.Invalid(path.Child("roleRef", "name"), ref.Name, "has no rules"))
	}
	obj.Status.Role, obj.Status.Rules = role, rules
	return nil
}
