// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NamesOnly reports whether an error of the API is one of upstream's usual errors NotFound,
// AlreadyExists or Conflict, which contain the name of an object and nothing else of the object.
// conflict is the text that the storage uses in a Conflict.
func NamesOnly(err error, status metav1.Status, resource schema.GroupResource, conflict string) bool {
	if status.Details == nil {
		return false
	}
	name := status.Details.Name
	switch {
	case apierrors.IsNotFound(err):
		return status.Message == apierrors.NewNotFound(resource, name).Error()
	case apierrors.IsAlreadyExists(err):
		return status.Message == apierrors.NewAlreadyExists(resource, name).Error()
	case apierrors.IsConflict(err):
		return status.Message == apierrors.NewConflict(resource, name, errors.New(conflict)).Error()
	}
	return false
}
