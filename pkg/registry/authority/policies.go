// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/delegation/policy"
)

// Policies configures the storage of AuthorityDelegationPolicies.
type Policies struct {
	// Prepare fills in the status of a policy whose specification is about to be stored, or
	// returns an error that refuses it.
	Prepare func(ctx context.Context, p *v1alpha1.AuthorityDelegationPolicy) error
	// Observe is called with every policy that this server stored or removed, before the server
	// answers the request. gone is true if the policy was removed.
	Observe func(p *v1alpha1.AuthorityDelegationPolicy, gone bool)
}

const policiesPlural = "authoritydelegationpolicies"

func newPolicies(options generic.RESTOptionsGetter, p *Policies) (resourceREST, error) {
	k := kind{
		policiesPlural, "authoritydelegationpolicy", "adpol", validation.Cluster,
		func() runtime.Object { return &authority.AuthorityDelegationPolicy{} },
		func() runtime.Object { return &authority.AuthorityDelegationPolicyList{} },
	}
	approve := func(ctx context.Context, obj runtime.Object) (genericregistry.FinishFunc, error) {
		err := p.Prepare(ctx, (*v1alpha1.AuthorityDelegationPolicy)(obj.(*authority.AuthorityDelegationPolicy)))
		return func(context.Context, bool) {}, err
	}
	store := k.store(policyStrategy{k.strategy()}, policyTable)
	store.BeginCreate = func(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		return approve(ctx, obj)
	}
	store.BeginUpdate = func(ctx context.Context, obj, old runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
		written, stored := obj.(*authority.AuthorityDelegationPolicy), old.(*authority.AuthorityDelegationPolicy)
		if equality.Semantic.DeepEqual(written.Spec, stored.Spec) {
			return func(context.Context, bool) {}, nil
		}
		return approve(ctx, obj)
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: jsonOptions{options}}); err != nil {
		return resourceREST{}, err
	}
	notify(store, func(changed *authority.AuthorityDelegationPolicy, gone bool) {
		p.Observe((*v1alpha1.AuthorityDelegationPolicy)(changed), gone)
	})
	return resourceREST{store, k.short}, nil
}

// policyStrategy implements the strategies of AuthorityDelegationPolicies.
type policyStrategy struct{ strategy }

// NamespaceScoped implements rest.RESTCreateStrategy.
func (policyStrategy) NamespaceScoped() bool { return false }

// PrepareForCreate keeps the status. Policies.Prepare has already replaced the status that the
// client sent.
func (policyStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	obj.(*authority.AuthorityDelegationPolicy).Generation = 1
}

// PrepareForUpdate keeps the stored status if the specification does not change. If the
// specification changes, Policies.Prepare writes a new status later.
func (policyStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	p, stored := obj.(*authority.AuthorityDelegationPolicy), old.(*authority.AuthorityDelegationPolicy)
	p.Generation = stored.Generation
	if equality.Semantic.DeepEqual(p.Spec, stored.Spec) {
		p.Status = *stored.Status.DeepCopy()
		return
	}
	p.Generation++
}

// Validate implements rest.RESTCreateStrategy.
func (policyStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	p := (*v1alpha1.AuthorityDelegationPolicy)(obj.(*authority.AuthorityDelegationPolicy))
	return append(validation.DelegationPolicy(p), validateServerSide(ctx, p)...)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (policyStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	p := (*v1alpha1.AuthorityDelegationPolicy)(obj.(*authority.AuthorityDelegationPolicy))
	stored := (*v1alpha1.AuthorityDelegationPolicy)(old.(*authority.AuthorityDelegationPolicy))
	return append(validation.DelegationPolicyUpdate(p, stored), validateServerSide(ctx, p)...)
}

// validateServerSide returns the errors in a policy that only the server can find: expressions
// that do not compile, permissions that can't be neutral, a second name of a resource, and a resource
// whose objects are never stored.
func validateServerSide(ctx context.Context, p *v1alpha1.AuthorityDelegationPolicy) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateConditions(ctx, p.Spec.Conditions, path.Child("conditions"))
	if resource, other := policy.StoredAs(schema.GroupResource(p.Spec.Resource)); other {
		errs = append(errs, field.Invalid(path.Child("resource"), schema.GroupResource(p.Spec.Resource).String(),
			fmt.Sprintf("its objects are those of %s; name that resource", resource)))
	}
	if why := policy.NeverStored(schema.GroupResource(p.Spec.Resource)); why != "" {
		errs = append(errs, field.Invalid(path.Child("resource"), schema.GroupResource(p.Spec.Resource).String(), why))
	}
	wrong := policy.ValidateNeutral(p.Spec.Neutral, schema.GroupResource(p.Spec.Resource))
	for i, name := range p.Spec.Neutral {
		if err := wrong[i]; err != nil {
			errs = append(errs, field.Invalid(path.Child("neutral").Index(i), name, err.Error()))
		}
	}
	return errs
}

// policyTable has the columns of AuthorityDelegationPolicies for kubectl get.
var policyTable = table{
	columns: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "The name of the object."},
		{Name: "Resource", Type: "string", Description: "The resource whose writes trigger a delegation."},
		{Name: "Whom", Type: "string", Description: "The users, groups and service accounts that may use the delegations."},
		{Name: "What", Type: "string", Description: "The role or the rules that are delegated."},
		{Name: "If not held", Type: "string", Description: "What happens to a write whose author does not hold the permissions to be delegated."},
		{Name: "Age", Type: "string", Description: "The time since the object was created."},
		{Name: "If lost", Type: "string", Priority: 1, Description: "What happens to a delegation when its author loses permissions."},
		{Name: "Author", Type: "string", Priority: 1, Description: "The user who wrote the policy."},
	},
	cells: func(obj runtime.Object) ([]any, error) {
		p, ok := obj.(*authority.AuthorityDelegationPolicy)
		if !ok {
			return nil, fmt.Errorf("%T is not a policy", obj)
		}
		return []any{
			p.Name, schema.GroupResource(p.Spec.Resource).String(), delegatesText(p.Spec.Delegates),
			rulesText(p.Spec.RoleRef, p.Spec.Rules), string(p.Spec.IfNotHeld),
			metatable.ConvertToHumanReadableDateType(p.CreationTimestamp), string(p.Spec.IfLost), p.Status.Author,
		}, nil
	},
}
