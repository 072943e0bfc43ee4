// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
)

// conditional reports whether conditions apply to the writes of a new delegation: its own, or those
// of an ancestor.
func conditional(obj *v1alpha1.AuthorityDelegation, parent *delegation.Chain) bool {
	return len(obj.Spec.Conditions) > 0 || parent != nil && parent.HasConditions()
}

// checkReads returns an error if rules that conditions apply to allow writing an object but not
// getting it.
func checkReads(spec *v1alpha1.AuthorityDelegationSpec, rules []rbacv1.PolicyRule, path *field.Path) field.ErrorList {
	missing := delegation.MissingReads(rules)
	if len(missing) == 0 {
		return nil
	}
	why := "with conditions, the rules need the verb get on all objects that they allow to write, because a condition reveals their content; it is missing for " + strings.Join(missing, ", ")
	if ref := spec.RoleRef; ref != nil {
		return field.ErrorList{field.Invalid(path.Child("roleRef", "name"), ref.Name, why)}
	}
	return field.ErrorList{field.Forbidden(path.Child("rules"), why)}
}

// mayReadRole reports whether the caller is allowed the verb get on the role that a delegation names,
// if it names one: the answer contains the rules of the role.
func (d *Issuer) mayReadRole(ctx context.Context, obj *v1alpha1.AuthorityDelegation) bool {
	return obj.Spec.RoleRef == nil || d.mayGetRole(ctx, obj.Spec.RoleRef, obj.Spec.Scope.Namespace)
}

// maxReads is for how many objects and resources mayGetObjects asks.
const maxReads = 64

// mayGetObjects reports whether the caller may get all objects on which the conditions of a
// delegation can be evaluated. It returns false for too many. A caller with the verb "delegate" must
// hold this, even if it is the authorizers that decide about the rest at each use.
func (d *Issuer) mayGetObjects(ctx context.Context, obj *v1alpha1.AuthorityDelegation) bool {
	if len(obj.Spec.Conditions) == 0 {
		return true
	}
	caller, _ := request.UserFrom(ctx)
	asked := 0
	for _, rule := range delegation.Reads(obj.Status.Rules) {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, resource := range rule.Resources {
			for _, name := range names {
				if asked++; asked > maxReads {
					return false
				}
				decision, _, err := d.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
					User: caller, Verb: "get", APIGroup: rule.APIGroups[0], APIVersion: "*", Resource: resource, Name: name,
					Namespace: obj.Spec.Scope.Namespace, ResourceRequest: true,
				})
				if err != nil || decision != authorizer.DecisionAllow {
					return false
				}
			}
		}
	}
	return true
}
