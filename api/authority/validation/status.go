// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// StatusUpdate validates an update of the status of a protected attribute.
func StatusUpdate(meta, oldMeta *metav1.ObjectMeta, status *authority.ProtectedAttributeStatus) field.ErrorList {
	path := field.NewPath("status")
	errs := apimachineryvalidation.ValidateObjectMetaUpdate(meta, oldMeta, field.NewPath("metadata"))
	errs = append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
	if len(status.Holders) > authority.MaxHolders {
		errs = append(errs, field.TooMany(path.Child("holders"), len(status.Holders), authority.MaxHolders))
	}
	if len(status.EarlierBindings) > authority.MaxEarlierBindings {
		errs = append(errs, field.TooMany(path.Child("earlierBindings"), len(status.EarlierBindings), authority.MaxEarlierBindings))
	}
	for child, count := range map[string]int64{
		"observedGeneration": status.ObservedGeneration, "holderCount": status.HolderCount,
		"earlierBindingCount": status.EarlierBindingCount, "auditViolations": status.AuditViolations,
	} {
		errs = append(errs, apimachineryvalidation.ValidateNonnegativeField(count, path.Child(child))...)
	}
	return errs
}
