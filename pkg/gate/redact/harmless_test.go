// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
)

// TestNamesOnly checks which errors are shown to a caller that may not get the object: errors
// with exactly the text of the API that names the object, without any addition.
func TestNamesOnly(t *testing.T) {
	const stored, name = "the object has been modified", "t"
	things := gvk.GroupResource{Group: "example.com", Resource: "things"}
	secret := errors.New("it holds a secret")
	request := func(err *apierrors.StatusError) *apierrors.StatusError {
		err.ErrStatus.Message += ", and it holds a secret"
		return err
	}
	bare := func(err *apierrors.StatusError) *apierrors.StatusError {
		err.ErrStatus.Details = nil
		return err
	}
	for what, test := range map[string]struct {
		err  *apierrors.StatusError
		want bool
	}{
		"not found":               {apierrors.NewNotFound(things, name), true},
		"not found, and more":     {request(apierrors.NewNotFound(things, name)), false},
		"not found, no details":   {bare(apierrors.NewNotFound(things, name)), false},
		"not found of another":    {apierrors.NewNotFound(gvk.GroupResource{Resource: "pods"}, name), false},
		"there already":           {apierrors.NewAlreadyExists(things, name), true},
		"there already, and more": {request(apierrors.NewAlreadyExists(things, name)), false},
		"a conflict":              {apierrors.NewConflict(things, name, errors.New(stored)), true},
		"a conflict for a reason": {apierrors.NewConflict(things, name, secret), false},
		"a conflict of managers": {apierrors.NewApplyConflict([]metav1.StatusCause{{Field: ".data"}}, "it holds a secret"),
			false},
		"forbidden, as if not found": {forbidden(apierrors.NewNotFound(things, name)), false},
		"refused":                    {apierrors.NewForbidden(things, name, secret), false},
		"invalid":                    {apierrors.NewInvalid(gvk.GroupKind{Kind: "Thing"}, name, nil), false},
	} {
		if got := NamesOnly(test.err, test.err.Status(), things, stored); got != test.want {
			t.Errorf("%s: %t, %v", what, got, test.err)
		}
	}
}

// forbidden returns a 403 with the message of another error.
func forbidden(like *apierrors.StatusError) *apierrors.StatusError {
	err := apierrors.NewForbidden(gvk.GroupResource{}, like.ErrStatus.Details.Name, nil)
	err.ErrStatus.Message = like.ErrStatus.Message
	return err
}
