// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityvalidation "kube-granular.dev/api/authority/validation"
)

var policyResource = v1alpha1.Resource("authoritydelegationpolicies")

// PreparePolicy fills in the status of a policy whose specification is about to be stored. It
// returns an error if the caller lacks the verb "delegate", or does not hold all rules of the
// policy in the whole cluster. The status gets a copy of the rules. If the rules come from a role,
// later changes of the role do not affect the copy.
func (d *Issuer) PreparePolicy(ctx context.Context, p *v1alpha1.AuthorityDelegationPolicy) error {
	p.Status = v1alpha1.AuthorityDelegationPolicyStatus{}
	if errs := authorityvalidation.DelegationPolicy(p); len(errs) > 0 {
		return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegationPolicy").GroupKind(), p.Name, errs)
	}
	forbidden := func(err error) error { return apierrors.NewForbidden(policyResource, p.Name, err) }
	caller, ok := request.UserFrom(ctx)
	if !ok {
		return forbidden(fmt.Errorf("only an authenticated user can write a policy"))
	}
	// The policy may issue delegations of any name.
	may, err := d.mayDelegate(ctx, "")
	switch {
	case may:
	case err != nil:
		return err
	default:
		return forbidden(fmt.Errorf("to write a policy, you need the verb %q on authoritydelegations, because the policy delegates permissions of the users who write the objects", v1alpha1.VerbDelegate))
	}
	if err := d.snapshotPolicyRules(ctx, p); err != nil {
		return err
	}
	// Without selected.ForNewDelegation, conditional rules do not count: a policy does not inherit
	// the conditions of the delegations that the caller selected.
	err = confirmRules(ctx, storage{d.Client}.rbacReaders(), metav1.NamespaceNone, p.Status.Rules)
	if err != nil {
		if ref := p.Spec.RoleRef; ref != nil && !d.mayGetRole(ctx, ref, metav1.NamespaceNone) {
			err = roleNotHeld(ref)
		}
		return forbidden(err)
	}
	if len(p.Spec.Conditions) > 0 {
		if errs := checkReads(authorityvalidation.SpecByPolicy(&p.Spec, "any"), p.Status.Rules, field.NewPath("spec")); len(errs) > 0 {
			return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegationPolicy").GroupKind(), p.Name, errs)
		}
	}
	p.Status.Author = caller.GetName()
	return nil
}

// snapshotPolicyRules copies the rules of the policy, in their present state, into its status.
func (d *Issuer) snapshotPolicyRules(ctx context.Context, p *v1alpha1.AuthorityDelegationPolicy) error {
	// The name of the namespace does not matter. It makes the scope a namespace, so that rules with
	// non-resource URLs are left out.
	like := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: *authorityvalidation.SpecByPolicy(&p.Spec, "any")}
	if ref := p.Spec.RoleRef; ref != nil && ref.Kind != v1alpha1.ClusterRoleKind {
		return invalidDelegation(like, field.NotSupported(field.NewPath("spec", "roleRef", "kind"), ref.Kind, []string{v1alpha1.ClusterRoleKind}))
	}
	if err := d.snapshotRules(ctx, like); err != nil {
		if apierrors.IsForbidden(err) {
			return apierrors.NewForbidden(policyResource, p.Name, roleNotHeld(p.Spec.RoleRef))
		}
		return err
	}
	p.Status.Rules, p.Status.Role = like.Status.Rules, like.Status.Role
	return nil
}
