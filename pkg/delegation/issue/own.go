// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/selected"
)

// warnOtherDelegator warns a caller who creates a delegation whose status says that another user had
// created it, as in a backup. The server ignores that status.
func warnOtherDelegator(ctx context.Context, sent *v1alpha1.DelegatorIdentity, caller user.Info) {
	same := sent.Username == caller.GetName() && (sent.UID == "" || sent.UID == caller.GetUID())
	if same || sent.Username == "" && sent.UID == "" {
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf("status.delegator names %q with the UID %q, but this delegation belongs to you: it delegates your permissions, and ends when you lose them. If it comes from a backup, it may also have been revoked since. Delete it unless you want that", delegation.Truncate(sent.Username), delegation.Truncate(sent.UID)))
}

// ConfirmOwn returns an error unless the caller created a delegation, and selects no authority. The
// name and the UID must be those that the delegation records.
func (d *Issuer) ConfirmOwn(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	caller, ok := request.UserFrom(ctx)
	switch {
	case !ok:
		return forbiddenDelegation(obj, errors.New("only an authenticated user can end a delegation"))
	case selected.Selects(caller):
		return forbiddenDelegation(obj, errors.New("a delegation can't be ended while an authority is selected"))
	case caller.GetName() == "" || caller.GetName() == user.Anonymous || caller.GetName() != obj.Status.Delegator.Username ||
		caller.GetUID() != obj.Status.Delegator.UID:
		return forbiddenDelegation(obj, errors.New(
			"only the user that status.delegator names, with its UID, can end the delegation in this way; others need the verb update or delete on authoritydelegations"))
	}
	return nil
}
