// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusion

import (
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// withOwner makes the server's field manager an owner of the versions if kept is set: if the server
// changed them. The list of versions is atomic, so nothing smaller has an owner. It also stays an owner while nobody changes them: an apply releases what the server
// owns, so that this is no conflict. If nothing but the times of managed fields would change, the
// stored managed fields stay, so that the update stores nothing.
func withOwner(newCRD, oldCRD *apiextensions.CustomResourceDefinition, kept bool) *apiextensions.CustomResourceDefinition {
	index := slices.IndexFunc(oldCRD.ManagedFields, granular.OwnedByServer)
	if !kept && index < 0 || len(newCRD.ManagedFields) == 0 {
		return newCRD
	}
	if !kept && (slices.ContainsFunc(newCRD.ManagedFields, granular.OwnedByServer) ||
		!apiequality.Semantic.DeepEqual(newCRD.Spec, oldCRD.Spec)) {
		return newCRD
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: granular.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(granular.KeptFields)},
	}
	if index >= 0 {
		entry.Time = oldCRD.ManagedFields[index].Time
	} else {
		entry.Time = &metav1.Time{Time: time.Now().UTC().Truncate(time.Second)}
	}
	managed := slices.DeleteFunc(slices.Clone(newCRD.ManagedFields), granular.OwnedByServer)
	newCRD.ManagedFields = append(managed, entry)
	if unchanged(newCRD, oldCRD) {
		newCRD.ManagedFields = oldCRD.ManagedFields
	}
	return newCRD
}

// unchanged reports whether two definitions differ only in the times of managed fields.
func unchanged(newCRD, oldCRD *apiextensions.CustomResourceDefinition) bool {
	if !sameOwners(newCRD.ManagedFields, oldCRD.ManagedFields) || !apiequality.Semantic.DeepEqual(newCRD.Spec, oldCRD.Spec) {
		return false
	}
	updated, stored := newCRD.ObjectMeta, oldCRD.ObjectMeta
	updated.ManagedFields, stored.ManagedFields = nil, nil
	updated.ResourceVersion, stored.ResourceVersion = "", ""
	return apiequality.Semantic.DeepEqual(updated, stored)
}

// sameOwners reports whether two lists of managed fields have the same entries, in any order and at
// any times.
func sameOwners(a, b []metav1.ManagedFieldsEntry) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one metav1.ManagedFieldsEntry) bool {
		return !slices.ContainsFunc(b, func(other metav1.ManagedFieldsEntry) bool {
			one.Time, other.Time = nil, nil
			return apiequality.Semantic.DeepEqual(one, other)
		})
	})
}
