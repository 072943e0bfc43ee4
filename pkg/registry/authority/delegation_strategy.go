// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/delegation"
)

// delegationStrategy implements the strategies of AuthorityDelegations.
type delegationStrategy struct{ strategy }

// NamespaceScoped implements rest.RESTCreateStrategy.
func (delegationStrategy) NamespaceScoped() bool { return false }

// PrepareForCreate keeps the status. Delegations.Prepare has already replaced the status that
// the client sent.
func (delegationStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	obj.(*authority.AuthorityDelegation).Generation = 1
}

// PrepareForUpdate keeps the stored status, with one exception: if the specification has an earlier
// expiration time than the status, the status gets that time.
func (delegationStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	d, stored := obj.(*authority.AuthorityDelegation), old.(*authority.AuthorityDelegation)
	d.Status = *stored.Status.DeepCopy()
	if until := d.Spec.ExpirationTimestamp; until != nil && !until.IsZero() &&
		(d.Status.ExpirationTimestamp == nil || until.Before(d.Status.ExpirationTimestamp)) {
		d.Status.ExpirationTimestamp = until.DeepCopy()
	}
	d.Generation = stored.Generation
	if !equality.Semantic.DeepEqual(d.Spec, stored.Spec) {
		d.Generation++
	}
}

// Validate implements rest.RESTCreateStrategy.
func (delegationStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	d := (*v1alpha1.AuthorityDelegation)(obj.(*authority.AuthorityDelegation))
	errs := validation.Delegation(d)
	if strings.HasPrefix(d.Name, v1alpha1.PolicyPrefix) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), d.Name,
			fmt.Sprintf("must not begin with %q, which is reserved for delegations of policies", v1alpha1.PolicyPrefix)))
	}
	return append(errs, validateConditions(ctx, d.Spec.Conditions, field.NewPath("spec", "conditions"))...)
}

// validateConditions returns the errors of condition expressions that do not compile.
func validateConditions(ctx context.Context, conditions []v1alpha1.DelegationCondition, path *field.Path) (errs field.ErrorList) {
	total := 0
	for i, c := range conditions {
		// What is too long is refused, and not compiled.
		if total += len(c.Expression); len(c.Expression) > v1alpha1.MaxExpressionLength || total > v1alpha1.MaxExpressionsLength {
			continue
		}
		if err := delegation.Compile(ctx, c.Expression); err != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("expression"), c.Expression, err.Error()))
		}
	}
	return errs
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (delegationStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.DelegationUpdate((*v1alpha1.AuthorityDelegation)(obj.(*authority.AuthorityDelegation)),
		(*v1alpha1.AuthorityDelegation)(old.(*authority.AuthorityDelegation)))
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (delegationStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	d := obj.(*authority.AuthorityDelegation)
	if d.Spec.IfLost == v1alpha1.LossKeep && d.Status.ExpirationTimestamp == nil && d.Spec.IdleSeconds == nil {
		return []string{fmt.Sprintf("the delegation never expires, even if user %q loses the permissions: set expirationTimestamp or idleSeconds, or ifLost: Withdraw", d.Status.Delegator.Username)}
	}
	return nil
}
