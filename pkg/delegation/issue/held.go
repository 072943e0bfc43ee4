// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/selected"
)

// confirmHeld returns an error if the caller does not hold the permissions that are delegated.
func (d *Issuer) confirmHeld(ctx context.Context, obj *v1alpha1.AuthorityDelegation, parent *delegation.Chain) error {
	var failed error
	caller, _ := request.UserFrom(ctx)
	if !selected.Selects(caller) && obj.Spec.IfLost != v1alpha1.LossKeep {
		// Whenever the delegation is used, all authorizers check the delegator's permissions. So
		// for a caller with the verb "delegate", the slow check below, which reads roles and
		// bindings from storage, is not needed. A caller that selects a role must not reach its
		// other permissions in this way.
		var may bool
		if may, failed = d.mayDelegate(ctx, obj.Name); may && d.mayReadRole(ctx, obj) && d.mayGetObjects(ctx, obj) {
			return nil
		}
	}
	err := confirmRules(selected.ForNewDelegation(ctx), storage{d.Client}.rbacReaders(), obj.Spec.Scope.Namespace, obj.Status.Rules)
	if err == nil && obj.Spec.IfLost != v1alpha1.LossKeep {
		return nil
	}
	if failed != nil {
		return failed
	}
	if parent == nil && err == nil {
		may, failed := d.mayDelegate(ctx, obj.Name)
		switch {
		case failed != nil:
			return failed
		case may:
			return nil
		default:
			return forbiddenDelegation(obj, fmt.Errorf("a delegation with ifLost: Keep needs the verb %q on authoritydelegations",
				v1alpha1.VerbDelegate))
		}
	}
	if ref := obj.Spec.RoleRef; ref != nil && !d.mayGetRole(ctx, ref, obj.Spec.Scope.Namespace) {
		err = roleNotHeld(ref)
	}
	return forbiddenDelegation(obj, err)
}

// confirmPolicyHeld returns an error if the caller does not hold the permissions that a policy
// delegates. It reads roles and bindings through readers, which read a cache or storage.
func (d *Issuer) confirmPolicyHeld(ctx context.Context, obj *v1alpha1.AuthorityDelegation, readers seam.Policy) error {
	err := confirmRules(selected.ForNewDelegation(ctx), readers, obj.Spec.Scope.Namespace, obj.Status.Rules)
	if err == nil {
		return nil
	}
	if caller, _ := request.UserFrom(ctx); !selected.Selects(caller) && obj.Spec.IfLost != v1alpha1.LossKeep {
		// All authorizers check the delegator's permissions at each use, so the verb "delegate"
		// is enough here, unless the caller selects only some of its permissions.
		may, failed := d.mayDelegate(ctx, obj.Name)
		if failed != nil || may && d.mayGetObjects(ctx, obj) {
			return failed
		}
	}
	return notHeld{err}
}

// mayDelegate reports whether the caller is allowed the verb "delegate" on a delegation, or on all
// delegations if name is empty.
func (d *Issuer) mayDelegate(ctx context.Context, name string) (bool, error) {
	caller, _ := request.UserFrom(ctx)
	decision, _, err := d.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: caller, Verb: v1alpha1.VerbDelegate, APIGroup: v1alpha1.SchemeGroupVersion.Group, APIVersion: v1alpha1.SchemeGroupVersion.Version,
		Resource: delegationResource.Resource, Name: name, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}
