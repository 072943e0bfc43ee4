// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityvalidation "kube-granular.dev/api/authority/validation"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/selected"
)

// Issuer decides whether an AuthorityDelegation may be created, and fills in its status.
type Issuer struct {
	Delegations *delegation.Index
	Authorizer  authorizer.UnconditionalAuthorizer
	// Client reads roles, bindings and namespaces from storage.
	Client kubernetes.Interface
	// Cached reads roles and bindings from informers.
	Cached seam.Policy
	// Now is time.Now, except in tests.
	Now func() time.Time
}

var delegationResource = v1alpha1.Resource("authoritydelegations")

// PrepareDelegation fills in the status of a delegation that is about to be created. It returns
// an error if the caller does not hold the permissions that are delegated.
func (d *Issuer) PrepareDelegation(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	sent := obj.Status.Delegator
	obj.Status = v1alpha1.AuthorityDelegationStatus{}
	if errs := authorityvalidation.DelegationSpec(&obj.Spec, field.NewPath("spec")); len(errs) > 0 {
		return invalidDelegation(obj, errs...)
	}
	caller, ok := request.UserFrom(ctx)
	if !ok || caller.GetName() == "" || caller.GetName() == user.Anonymous {
		return forbiddenDelegation(obj, errors.New("only an authenticated user can delegate"))
	}
	parent, err := d.parentChain(ctx, caller)
	if err != nil {
		if again := unavailable(err); again != nil {
			return again
		}
		return forbiddenDelegation(obj, err)
	}
	ambient := selected.WithoutSelection(caller)
	if err := d.checkBounds(obj, ambient, parent); err != nil {
		return err
	}
	if obj.Status.Delegator, err = d.delegatorOf(ctx, ambient); err != nil {
		return forbiddenDelegation(obj, err)
	}
	warnOtherDelegator(ctx, &sent, ambient)
	if parent != nil {
		obj.Status.History = parent.Entries()
	}
	obj.Status.History = append(obj.Status.History, selected.Handovers(ctx, ambient)...)
	// The error about a missing namespace is returned last, so that only callers that hold what
	// they delegate learn whether the namespace exists. The UID is read before the other checks, so
	// that the delegation does not apply to a later namespace of the same name.
	uid, missing := d.namespaceUID(ctx, obj)
	obj.Status.NamespaceUID = uid
	if err := d.snapshotRules(ctx, obj); err != nil {
		return err
	}
	if err := d.confirmHeld(ctx, obj, parent); err != nil {
		return err
	}
	// This error contains rules of a role, so only callers that hold them, or may get the role, see it.
	if conditional(obj, parent) {
		if errs := checkReads(&obj.Spec, obj.Status.Rules, field.NewPath("spec")); len(errs) > 0 {
			return invalidDelegation(obj, errs...)
		}
	}
	return missing
}

// namespaceUID returns the UID of the namespace in which a delegation applies, or "" if it applies
// in the whole cluster. It returns an error if the namespace does not exist or is being deleted.
func (d *Issuer) namespaceUID(ctx context.Context, obj *v1alpha1.AuthorityDelegation) (types.UID, error) {
	name := obj.Spec.Scope.Namespace
	if name == "" {
		return "", nil
	}
	namespace, err := d.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if namespace.DeletionTimestamp != nil {
		return "", invalidDelegation(obj, field.Invalid(field.NewPath("spec", "scope", "namespace"), name, "is being deleted"))
	}
	return namespace.UID, nil
}

// parentChain returns the chain of the delegation that the caller selected, or nil if the caller
// selected none.
func (d *Issuer) parentChain(ctx context.Context, caller user.Info) (*delegation.Chain, error) {
	if !selected.Selects(caller) {
		return nil, nil
	}
	s, err := selected.UserOf(caller)
	if err != nil || !s.SelectsDelegation() {
		return nil, err
	}
	chain, refusal := s.Chain(ctx, d.Delegations)
	if refusal != nil {
		return nil, refusal
	}
	if len(chain.Links) >= v1alpha1.MaxChain {
		return nil, fmt.Errorf("a chain can have at most %d delegations", v1alpha1.MaxChain)
	}
	return chain, nil
}

// unavailable returns the error for a caller whose delegation this server can't judge yet, or nil if
// err has another reason.
func unavailable(err error) error {
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) && refusal.Reason == delegation.DelegatorUnknown {
		return apierrors.NewServiceUnavailable(refusal.Message)
	}
	return nil
}

// checkBounds validates the delegates, ifLost and the expiration time of a delegation, and sets the
// expiration time in its status. It reads nothing from storage.
func (d *Issuer) checkBounds(obj *v1alpha1.AuthorityDelegation, delegator user.Info, parent *delegation.Chain) error {
	path := field.NewPath("spec")
	for i, delegate := range obj.Spec.Delegates {
		if isUser(delegate, delegator) {
			return invalidDelegation(obj, field.Invalid(path.Child("delegates").Index(i), delegate.Name,
				"is the delegator itself; select a role to act with fewer permissions"))
		}
	}
	until := obj.Spec.ExpirationTimestamp
	if until != nil && !until.After(d.Now()) {
		return invalidDelegation(obj, field.Invalid(path.Child("expirationTimestamp"), until, "must be in the future"))
	}
	if parent != nil {
		if obj.Spec.IfLost == v1alpha1.LossKeep {
			return invalidDelegation(obj, field.Forbidden(path.Child("ifLost"),
				"a delegation that is created under a selected delegation ends together with it, so Keep is not possible"))
		}
		if inherited := parent.ExpiresAt(); inherited != nil && (until == nil || inherited.Before(until)) {
			until = inherited
		}
	}
	obj.Status.ExpirationTimestamp = until.DeepCopy()
	return nil
}

// isUser reports whether a delegate is the user or service account u.
func isUser(delegate v1alpha1.Delegate, u user.Info) bool {
	return delegate.Kind == v1alpha1.DelegateUser && delegate.Name == u.GetName() ||
		delegate.Kind == v1alpha1.DelegateServiceAccount && serviceaccount.MatchesUsername(delegate.Namespace, delegate.Name, u.GetName())
}

func identityOf(u user.Info) v1alpha1.DelegatorIdentity {
	extra := maps.Clone(u.GetExtra())
	delete(extra, selection.ExtraKey)
	if len(extra) == 0 {
		extra = nil
	}
	return v1alpha1.DelegatorIdentity{Username: u.GetName(), UID: u.GetUID(), Groups: slices.Clone(u.GetGroups()), Extra: extra}
}

// delegatorOf returns the identity that the delegation of a user records. A service account has a UID
// there, also if the request has none, as with impersonation. Otherwise the delegation would survive the
// account, and belong to the next one of the name.
func (d *Issuer) delegatorOf(ctx context.Context, u user.Info) (v1alpha1.DelegatorIdentity, error) {
	out := identityOf(u)
	namespace, name, err := serviceaccount.SplitUsername(out.Username)
	if err != nil || out.UID != "" {
		return out, nil
	}
	account, err := d.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return out, fmt.Errorf("the request has no UID of the service account %q, and the account can't be read: %w", out.Username, err)
	}
	out.UID = string(account.UID)
	return out, nil
}

func forbiddenDelegation(obj *v1alpha1.AuthorityDelegation, err error) error {
	return apierrors.NewForbidden(delegationResource, obj.Name, err)
}

func invalidDelegation(obj *v1alpha1.AuthorityDelegation, errs ...*field.Error) error {
	return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegation").GroupKind(), obj.Name, errs)
}
