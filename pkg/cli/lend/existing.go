// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// List returns the delegations that were lent, sorted by account.
func (l *Lender) List(ctx context.Context) ([]v1alpha1.AuthorityDelegation, error) {
	all, err := l.Authority.AuthorityDelegations().List(ctx, metav1.ListOptions{LabelSelector: selection.LentLabel + "=true"})
	if err != nil {
		return nil, explained(err)
	}
	for i := range all.Items {
		all.Items[i].TypeMeta = kindOfDelegations // lists leave it out, and each is printed alone
	}
	slices.SortFunc(all.Items, func(a, b v1alpha1.AuthorityDelegation) int {
		return strings.Compare(AccountOf(&a).String()+"\x00"+a.Name, AccountOf(&b).String()+"\x00"+b.Name)
	})
	return all.Items, nil
}

// AccountOf returns the account that a lent delegation was made for.
func AccountOf(d *v1alpha1.AuthorityDelegation) Account {
	for _, delegate := range d.Spec.Delegates {
		if delegate.Kind == v1alpha1.DelegateServiceAccount {
			return Account{delegate.Namespace, delegate.Name}
		}
	}
	return Account{}
}

// Find returns the delegation that is labelled as lent to an account. Among several, it is the one under which the account acts.
func (l *Lender) Find(ctx context.Context, account Account) (*v1alpha1.AuthorityDelegation, error) {
	found, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(d v1alpha1.AuthorityDelegation) bool { return AccountOf(&d) != account })
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("nothing is lent to a service account %s; --list shows all", account)
	case 1:
		return &found[0], nil
	}
	object, err := l.Client.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the service account %s: %w", account, err)
	}
	for i := range found {
		if err == nil && actsUnder(object, &found[i]) {
			return &found[i], nil
		}
	}
	const several = "%d delegations are labelled as lent to the service account %s, and it acts under none of them; " +
		"delete one of the delegations %s and %s"
	return nil, fmt.Errorf(several, len(found), account, found[0].Name, found[1].Name)
}

// actsUnder reports whether an account acts under a delegation, by its own annotation.
func actsUnder(account *corev1.ServiceAccount, d *v1alpha1.AuthorityDelegation) bool {
	binding, err := selection.ParseBinding(account.Annotations[selection.BindingAnnotation])
	return err == nil && binding.Name == d.Name && binding.UID == d.UID
}

// foreign returns why an account is not the one that was made for a delegation, or "" if it is. Everybody who may create
// delegations can label one as lent, and name any account in it. So only what the account itself says counts: what Make wrote
// there, which nobody writes without the verb update on the account.
func foreign(account *corev1.ServiceAccount, d *v1alpha1.AuthorityDelegation) string {
	named := func(delegate v1alpha1.Delegate) bool {
		return delegate.Kind == v1alpha1.DelegateServiceAccount && delegate.Namespace == account.Namespace && delegate.Name == account.Name &&
			delegate.UID == account.UID
	}
	owner := func(o metav1.OwnerReference) bool {
		return o.APIVersion == kindOfDelegations.APIVersion && o.Kind == kindOfDelegations.Kind && o.Name == d.Name && o.UID == d.UID
	}
	switch {
	case !slices.ContainsFunc(d.Spec.Delegates, named):
		return "the delegation does not have its UID"
	case account.Labels[selection.LentLabel] != "true":
		return "it lacks the label " + selection.LentLabel
	case !actsUnder(account, d):
		return "its annotation " + selection.BindingAnnotation + " does not name the delegation"
	case !slices.ContainsFunc(account.OwnerReferences, owner):
		return "its ownerReferences do not name the delegation"
	}
	return ""
}

// Absent is why an account is left that is gone.
const Absent = "it does not exist"

// madeAccount returns the account that was made for a delegation, or why there is none.
func (l *Lender) madeAccount(
	ctx context.Context, d *v1alpha1.AuthorityDelegation,
) (account *corev1.ServiceAccount, missing string, err error) {
	name := AccountOf(d)
	account, err = l.Client.CoreV1().ServiceAccounts(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, Absent, nil
	case err != nil:
		return nil, "", fmt.Errorf("read the service account %s: %w", name, err)
	}
	if missing = foreign(account, d); missing != "" {
		return nil, missing, nil
	}
	return account, "", nil
}

// Kept returns why Revoke would end a delegation alone and leave the account, or "" if it would remove the account.
func (l *Lender) Kept(ctx context.Context, d *v1alpha1.AuthorityDelegation) (string, error) {
	_, kept, err := l.madeAccount(ctx, d)
	return kept, err
}

// Revoke ends a loan: the account has nothing at once. It is removed if it was made for the delegation; otherwise kept says why
// it is left. An account that can't be read does not delay the end.
func (l *Lender) Revoke(ctx context.Context, d *v1alpha1.AuthorityDelegation) (kept string, err error) {
	_, kept, unread := l.madeAccount(ctx, d)
	if err := l.end(ctx, d); err != nil {
		return "", err
	}
	switch {
	case unread != nil:
		const unknown = "AuthorityDelegation %s has ended, but it is not known whether the service account was made for it: %w"
		return "", fmt.Errorf(unknown, d.Name, unread)
	case kept != "":
		return kept, nil
	}
	// Somebody may renew the loan at the same time. So the account is removed only in a version that names this delegation.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		account, missing, err := l.madeAccount(ctx, d)
		if kept = missing; err != nil || missing != "" {
			return err
		}
		read := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &account.UID, ResourceVersion: &account.ResourceVersion}}
		return l.Client.CoreV1().ServiceAccounts(account.Namespace).Delete(ctx, account.Name, read)
	})
	switch {
	case kept == Absent, apierrors.IsNotFound(err): // the garbage collector was first
		return "", nil
	case err != nil:
		const stays = "the delegation has ended, so the service account %s has no permissions, but the account was not removed: %w"
		return "", fmt.Errorf(stays, AccountOf(d), err)
	}
	return kept, nil
}

// end deletes a delegation. A lender who may not delete it ends it, which each user may do with its own.
func (l *Lender) end(ctx context.Context, d *v1alpha1.AuthorityDelegation) error {
	err := l.Authority.AuthorityDelegations().Delete(ctx, d.Name, onlyUID(d.UID))
	if !apierrors.IsForbidden(err) {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"expirationTimestamp":%q}}`, d.UID, l.Now().Add(-time.Second).UTC().Format(time.RFC3339))
	if _, ending := l.Authority.AuthorityDelegations().Patch(ctx, d.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "expiration"); ending != nil {
		return errors.Join(err, ending)
	}
	return nil
}

// Renewal is what a loan continues with: a new delegation to the same account, because one can't be prolonged.
type Renewal struct {
	Terms *Terms
	// Delegation is what is created.
	Delegation *v1alpha1.AuthorityDelegation

	account *corev1.ServiceAccount
	old     *v1alpha1.AuthorityDelegation
}

// Renewal returns how a loan continues until another time. The rules are those that the role has when the delegation is
// created. It changes nothing.
func (l *Lender) Renewal(ctx context.Context, old *v1alpha1.AuthorityDelegation, until time.Time, reason string) (*Renewal, error) {
	account, missing, err := l.madeAccount(ctx, old)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		const other = "the service account %s was not made for AuthorityDelegation %s, so it gets no other: %s; --revoke ends the delegation"
		return nil, fmt.Errorf(other, AccountOf(old), old.Name, missing)
	}
	t := &Terms{Account: AccountOf(old), Role: old.Spec.RoleRef, Scope: old.Spec.Scope, Until: until,
		Reason: cmp.Or(reason, old.Annotations[selection.ReasonAnnotation])}
	_, d := t.objects(account.UID)
	d.Spec.Rules, d.Spec.Conditions, d.Spec.ObjectUIDs, d.Spec.IdleSeconds = old.Spec.Rules, old.Spec.Conditions, old.Spec.ObjectUIDs, old.Spec.IdleSeconds
	return &Renewal{t, d, account, old}, nil
}

// Renew creates the new delegation, binds the account to it, and ends the old one. store is called with the loan; if it
// fails, everything is undone.
func (l *Lender) Renew(ctx context.Context, r *Renewal, store func(*Loan) error) (*Loan, error) {
	var made undo
	loan, err := l.bindAndStore(ctx, r.account, r.Delegation, r.old, &made, store)
	if err != nil {
		return nil, made.all(ctx, err)
	}
	if err := l.end(ctx, r.old); err != nil && !apierrors.IsNotFound(err) {
		return loan, fmt.Errorf("the service account acts under the new delegation, but the old one, %s, was not removed: %w", r.old.Name, err)
	}
	return loan, nil
}

// rebind binds the account of a delegation to the one before, unless that has ended. It leaves an account that names another
// delegation by now.
func (l *Lender) rebind(ctx context.Context, d, before *v1alpha1.AuthorityDelegation) error {
	if end := before.Status.ExpirationTimestamp; end != nil && end.Time.Before(l.Now()) {
		return nil
	}
	account, missing, err := l.madeAccount(ctx, d)
	if err != nil || missing != "" {
		return err
	}
	// Who renewed got a token, perhaps.
	return l.bind(ctx, account, before, lendersOf(account).with(d.Status.Delegator.Username))
}
