// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// delete deletes the RBAC object, with its UID as a precondition, and makes sure that it gives no
// permissions any more. A finalizer keeps an object after its deletion was answered, and RBAC
// honours an object that is being deleted. So delete reads the object afterwards. If the object is
// still there, delete removes its finalizers, and its subjects if even that does not help.
func (w *writer) delete(ctx context.Context, have client.Object) error {
	uid := have.GetUID()
	if err := w.Delete(ctx, have, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", describe(have), err)
	}
	left, err := w.still(ctx, have)
	if err != nil || left == nil {
		return err
	}
	// The finalizers have a patch of their own: RBAC lets such a patch through even if the role of
	// the binding does not exist.
	finalizers := fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, uid)
	failed := w.Patch(ctx, left, client.RawPatch(types.MergePatchType, finalizers))
	if left, err = w.still(ctx, have); err != nil || left == nil {
		return err
	}
	if hasSubjects(left) {
		subjects := fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null},"subjects":null}`, uid)
		failed = w.Patch(ctx, left, client.RawPatch(types.MergePatchType, subjects))
		if left, err = w.still(ctx, have); err != nil || left == nil {
			return err
		}
	}
	switch {
	case subjectsOf(left) != nil && !hasSubjects(left):
		return nil
	case client.IgnoreNotFound(failed) != nil:
		return fmt.Errorf("remove the finalizers of %s: %w", describe(have), failed)
	}
	return fmt.Errorf("%s was deleted and is still there: its finalizers can't be removed", describe(have))
}

// still reads the object from the server. It returns nil if the object is gone, or if another
// object has its name now.
func (w *writer) still(ctx context.Context, have client.Object) (client.Object, error) {
	left := newLike(have)
	err := w.live.Get(ctx, client.ObjectKeyFromObject(have), left)
	if apierrors.IsNotFound(err) || err == nil && left.GetUID() != have.GetUID() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", describe(have), err)
	}
	return left, nil
}

// hasSubjects reports whether the object is a binding with subjects.
func hasSubjects(object client.Object) bool {
	subjects := subjectsOf(object)
	return subjects != nil && len(*subjects) > 0
}
