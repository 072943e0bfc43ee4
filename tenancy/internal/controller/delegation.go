// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// delegatorIndex is the name of the cache index of delegations by their delegator, the user who
// created them. The server supports a field selector with the same name.
const delegatorIndex = "status.delegator.username"

// delegations manages the delegations for the sudoers of tenants. The pointer to it is nil if sudo
// works by impersonation. Then the methods setRules, revoke and grant do nothing.
type delegations struct {
	writer
	// asDelegator sends requests as the delegator of a tenant.
	asDelegator client.Client
	// rules are the rules of sudo in a namespace. They are nil until discovery was first read.
	rules atomic.Pointer[[]rbacv1.PolicyRule]
	// changed gets an event when the rules have changed.
	changed chan event.GenericEvent
	// unseen has the created delegations that the informer cache possibly does not have yet.
	unseen pendingCache
}

// errNoRules means that the rules of sudo have not been read from discovery yet.
var errNoRules = errors.New("the rules of sudo are not known yet")

// setRules sets the rules of sudo. If they have changed, it sends an event, so that all tenants
// are reconciled.
func (d *delegations) setRules(rules []rbacv1.PolicyRule) error {
	if d == nil {
		return nil
	}
	rules, err := grants.Delegable(rules)
	if err != nil {
		return fmt.Errorf("the rules of sudo can't be delegated: %w", err)
	}
	if old := d.rules.Load(); old != nil && equality.Semantic.DeepEqual(*old, rules) {
		return nil
	}
	d.rules.Store(&rules)
	select {
	case d.changed <- event.GenericEvent{Object: &rbacv1.ClusterRole{}}:
	default: // an event is pending
	}
	return nil
}

// list returns the delegations of a tenant. If sure is true, it reads the delegations from the
// server, and not from the cache, which can be stale.
func (d *delegations) list(ctx context.Context, tenant string, sure bool) ([]authority.AuthorityDelegation, error) {
	list := &authority.AuthorityDelegationList{}
	reader := client.Reader(d.Client)
	if sure {
		reader = d.live
	}
	if err := reader.List(ctx, list, client.MatchingFields{delegatorIndex: names.SudoUser(tenant)}); err != nil {
		return nil, fmt.Errorf("list delegations of sudo of %s: %w", tenant, err)
	}
	return list.Items, nil
}

// revoke deletes the delegations of a tenant, except the delegations for the subjects in keep, and
// returns the deleted delegations. If sure is true, it finds the delegations by a request to the
// server. If not, it finds them in the cache, which may be stale.
func (d *delegations) revoke(ctx context.Context, tenant string, keep []v1alpha1.Subject, sure bool) ([]authority.AuthorityDelegation, error) {
	if d == nil {
		return nil, nil
	}
	all, err := d.list(ctx, tenant, sure)
	if err != nil {
		return nil, err
	}
	all = append(all, d.unseen.notIn(tenant, all)...)
	var gone []authority.AuthorityDelegation
	var failed []error
	for i := range all {
		if slices.Contains(keep, grants.Sudoer(&all[i])) || all[i].DeletionTimestamp != nil {
			continue
		}
		if err := d.delete(ctx, &all[i]); err != nil {
			failed = append(failed, err)
			continue
		}
		gone = append(gone, all[i])
	}
	return gone, errors.Join(failed...)
}

// delete deletes the delegation, with its UID as a precondition.
func (d *delegations) delete(ctx context.Context, have *authority.AuthorityDelegation) error {
	if err := d.Delete(ctx, have, client.Preconditions{UID: &have.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete AuthorityDelegation %s: %w", have.Name, err)
	}
	d.unseen.forget(names.DelegatorOf(have.Status.Delegator.Username), have.Name)
	return nil
}

// delegated is the result of the method grant, which creates the delegations of a tenant.
type delegated struct {
	// granted are the delegations that the tenant must have and now has. The status lists them.
	granted []v1alpha1.SudoDelegation
	// restored are the delegations that were missing and were created again.
	restored []*authority.AuthorityDelegation
	// outdated are delegations that the tenant must not have anymore. They are deleted only after
	// the status lists the new delegations, so that sudoers always find a delegation there.
	outdated []authority.AuthorityDelegation
	// refused is the error of the server if a sudoer has no delegation because it would not be
	// valid, for example because of the sudoer's name.
	refused error
}

// grant creates the missing delegations of a tenant. It deletes no outdated delegations, but
// returns them.
func (d *delegations) grant(ctx context.Context, t *v1alpha1.LNamespace, o grants.Options) (*delegated, error) {
	out := &delegated{}
	if d == nil {
		return out, nil
	}
	rules := d.rules.Load()
	if rules == nil {
		return nil, errNoRules
	}
	wanted, err := grants.Delegations(t, *rules, o)
	if err != nil {
		return nil, err
	}
	have, err := d.list(ctx, t.Name, false)
	if err != nil {
		return nil, err
	}
	for _, want := range wanted {
		at := slices.IndexFunc(have, func(h authority.AuthorityDelegation) bool { return h.Name == want.Name && isUnchanged(&h, want) })
		if at >= 0 {
			want.UID = have[at].UID
		} else {
			err := d.create(ctx, t.Name, want)
			if apierrors.IsInvalid(err) {
				out.refused = errors.Join(out.refused, err)
				continue
			}
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(have, func(h authority.AuthorityDelegation) bool {
				return grants.Sudoer(&h) == grants.Sudoer(want) && h.DeletionTimestamp == nil && h.Name != want.Name
			}) {
				out.restored = append(out.restored, want)
			}
		}
		out.granted = append(out.granted, v1alpha1.SudoDelegation{Subject: grants.Sudoer(want), Delegation: want.Name, UID: want.UID})
	}
	for i := range have {
		if !slices.ContainsFunc(wanted, func(w *authority.AuthorityDelegation) bool { return w.Name == have[i].Name }) {
			out.outdated = append(out.outdated, have[i])
		}
	}
	return out, nil
}

// isUnchanged reports whether a delegation is not being deleted, and still has the spec with
// which the controller created it. All fields of the spec but the expiration are immutable, so it is
// enough that the expiration is the wanted one.
func isUnchanged(d, want *authority.AuthorityDelegation) bool {
	return d.DeletionTimestamp == nil && d.Spec.ExpirationTimestamp.Equal(want.Spec.ExpirationTimestamp)
}

// create creates the delegation want as the delegator of the tenant, and sets the UID of want. If
// there is a delegation with the same name and another creator or an expiration, create replaces
// it.
func (d *delegations) create(ctx context.Context, tenant string, want *authority.AuthorityDelegation) error {
	ctx = asDelegator(ctx, tenant)
	made := want.DeepCopy()
	err := d.asDelegator.Create(ctx, made)
	if apierrors.IsAlreadyExists(err) {
		have := &authority.AuthorityDelegation{}
		if err := d.live.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
			return fmt.Errorf("get AuthorityDelegation %s: %w", want.Name, err)
		}
		if grants.Ours(have, tenant) && isUnchanged(have, want) {
			want.UID = have.UID // the cache is stale
			return nil
		}
		if err := d.delete(ctx, have); err != nil {
			return err
		}
		made = want.DeepCopy()
		err = d.asDelegator.Create(ctx, made)
	}
	if err != nil {
		return fmt.Errorf("create AuthorityDelegation %s: %w", want.Name, err)
	}
	want.UID = made.UID
	d.unseen.add(tenant, made)
	return nil
}

// deleteAllDelegations deletes the delegations of sudo of all tenants. The controller calls it in
// the mode Impersonation, because it might have run in the mode Delegation before.
func deleteAllDelegations(ctx context.Context, w writer) error {
	list := &authority.AuthorityDelegationList{}
	if err := w.live.List(ctx, list, client.MatchingLabels{names.ManagedBy: names.Manager}); err != nil {
		return fmt.Errorf("list delegations of sudo: %w", err)
	}
	d := delegations{writer: w}
	for i := range list.Items {
		if names.DelegatorOf(list.Items[i].Status.Delegator.Username) == "" {
			continue
		}
		if err := d.delete(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
