// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// maxOrphanSeconds is the maximum of spec.orphanSeconds, about ten years. A longer time is probably
// a mistake.
const maxOrphanSeconds = 10 * 366 * 24 * 3600

// DelegationPolicy validates a policy. Two things are not checked here, because only the server can
// check them: that the permissions in spec.neutral exist, and that condition expressions compile.
func DelegationPolicy(p *authority.AuthorityDelegationPolicy) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMeta(&p.ObjectMeta, false, apimachineryvalidation.NameIsDNSLabel, field.NewPath("metadata"))
	spec, path := &p.Spec, field.NewPath("spec")
	errs = append(errs, stamped(spec.Resource, path.Child("resource"))...)
	if spec.NamespaceSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(spec.NamespaceSelector,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	}
	if len(spec.Neutral) > authority.MaxNeutral {
		errs = append(errs, field.TooMany(path.Child("neutral"), len(spec.Neutral), authority.MaxNeutral))
	}
	errs = append(errs, DelegationSpec(SpecByPolicy(spec, "any"), path)...)
	if ref := spec.RoleRef; ref != nil && ref.Kind != authority.ClusterRoleKind {
		errs = append(errs, field.NotSupported(path.Child("roleRef", "kind"), ref.Kind, []string{authority.ClusterRoleKind}))
	}
	if spec.IfNotHeld != authority.NotHeldRefuse && spec.IfNotHeld != authority.NotHeldSkip {
		errs = append(errs, field.NotSupported(path.Child("ifNotHeld"), spec.IfNotHeld,
			[]authority.NotHeldPolicy{authority.NotHeldRefuse, authority.NotHeldSkip}))
	}
	if s := spec.OrphanSeconds; s != nil && (*s < authority.MinOrphanSeconds || *s > maxOrphanSeconds) {
		errs = append(errs, field.Invalid(path.Child("orphanSeconds"), *s,
			fmt.Sprintf("must be %d at least, and %d at most", authority.MinOrphanSeconds, maxOrphanSeconds)))
	}
	return errs
}

// DelegationPolicyUpdate validates an update of a policy. The field spec.resource is immutable,
// because after a change, objects of the old resource would still have stamps with delegations of
// the policy.
func DelegationPolicyUpdate(p, old *authority.AuthorityDelegationPolicy) field.ErrorList {
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, apimachineryvalidation.ValidateImmutableField(p.Spec.Resource, old.Spec.Resource,
		field.NewPath("spec", "resource"))...)
	return append(errs, DelegationPolicy(p)...)
}

// SpecByPolicy returns the specification of the delegations that a policy issues in a namespace. If
// the policy refers to a role, the specification has no rules. The caller must then copy the rules
// from the status of the policy to the status of the delegation.
func SpecByPolicy(p *authority.AuthorityDelegationPolicySpec, namespace string) *authority.AuthorityDelegationSpec {
	return &authority.AuthorityDelegationSpec{
		Delegates: p.Delegates, RoleRef: p.RoleRef, Rules: p.Rules, Scope: authority.DelegationScope{Namespace: namespace},
		Conditions: p.Conditions, IfLost: p.IfLost, IdleSeconds: p.IdleSeconds,
	}
}

func stamped(r authority.GroupResource, path *field.Path) (errs field.ErrorList) {
	for _, wrong := range utilvalidation.IsDNS1123Label(r.Resource) {
		errs = append(errs, field.Invalid(path.Child("resource"), r.Resource, wrong))
	}
	if r.Group != "" {
		for _, wrong := range utilvalidation.IsDNS1123Subdomain(r.Group) {
			errs = append(errs, field.Invalid(path.Child("group"), r.Group, wrong))
		}
	}
	switch {
	case len(errs) > 0:
	case ClusterScoped(r):
		errs = append(errs, field.Invalid(path, plural(r),
			"has objects in no namespace, but a delegation that a policy issues applies in the namespace of its object"))
	case len(plural(r)+selection.StampSuffix) > utilvalidation.DNS1123SubdomainMaxLength:
		errs = append(errs, field.Invalid(path, plural(r), "is too long: the prefix of the annotation that names a delegation contains it"))
	}
	return errs
}

func plural(r authority.GroupResource) string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}
