// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// checkOwners returns an error if a write under a delegation gives an object an owner, or takes one of several, and the
// delegation does not allow to delete the object. The garbage collector deletes an object whose owners do not exist, by its
// own rights: so a caller that may only update could delete, also where conditions allow no deletion. An object without
// owners stays, and one that the write creates is the caller's own.
func (c *commit) checkOwners(newObj runtime.Object) error {
	if newObj == nil || c.old == nil || !delegation.Exists(c.old) {
		return nil
	}
	before, err := meta.Accessor(c.old)
	if err != nil {
		return nil //nolint:nilerr // an object without metadata has no owners
	}
	after, err := meta.Accessor(newObj)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	stored, written := before.GetOwnerReferences(), after.GetOwnerReferences()
	if !gainsOwner(stored, written) && (len(written) == 0 || !gainsOwner(written, stored)) {
		return nil
	}
	info, ok := request.RequestInfoFrom(c.ctx)
	if !ok {
		return errors.New("the request of a write under a delegation is not known")
	}
	// The question is about the object of the request, so that objectUIDs are verified for it as well.
	deletion := *info
	deletion.Verb, deletion.Subresource = "delete", ""
	decision, reason, err := c.authorizer.Authorize(request.WithRequestInfo(c.ctx, &deletion), authorizer.AttributesRecord{
		User: c.user, Verb: "delete", Namespace: info.Namespace, Name: info.Name,
		APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource, ResourceRequest: true,
	})
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return err
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, before.GetName(),
		errors.New("metadata.ownerReferences: under a delegation, other owners need the verb delete on the object, "+
			"because the garbage collector deletes an object whose owner does not exist: "+reason))
}

// gainsOwner reports whether an object gets an owner that it did not have.
func gainsOwner(before, after []metav1.OwnerReference) bool {
	return slices.ContainsFunc(after, func(o metav1.OwnerReference) bool {
		return !slices.ContainsFunc(before, func(b metav1.OwnerReference) bool {
			return o.UID == b.UID && o.Name == b.Name && o.Kind == b.Kind && o.APIVersion == b.APIVersion
		})
	})
}
