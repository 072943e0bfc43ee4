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

// delegatorIndex finds delegations by the user who created them, which the server writes.
// It is also the name of the field selector.
const delegatorIndex = "status.delegator.username"

// delegations keeps a delegation for each sudoer of a tenant. It is nil where sudo is
// impersonation: then there is none to keep.
type delegations struct {
	writer
	// asDelegator acts as the user of a tenant who delegates its sudo.
	asDelegator client.Client
	// rules are what sudo may do in a namespace, nil until discovery was asked.
	rules atomic.Pointer[[]rbacv1.PolicyRule]
	// changed receives an event when rules have changed.
	changed chan event.GenericEvent
	// unseen are those that were made, by tenant and name, and that the cache may have yet to see.
	unseen pendingCache
}

// errNoRules tells that nothing can be delegated yet.
var errNoRules = errors.New("what sudo may do is not known yet")

// setRules takes rules, and tells of them if they are others than before.
func (d *delegations) setRules(rules []rbacv1.PolicyRule) error {
	if d == nil {
		return nil
	}
	rules, err := grants.Delegable(rules)
	if err != nil {
		return fmt.Errorf("what sudo may do can't be delegated: %w", err)
	}
	if old := d.rules.Load(); old != nil && equality.Semantic.DeepEqual(*old, rules) {
		return nil
	}
	d.rules.Store(&rules)
	select {
	case d.changed <- event.GenericEvent{Object: &rbacv1.ClusterRole{}}:
	default: // one is waiting
	}
	return nil
}

// list returns the delegations of a tenant. Where sure is set the server is asked: the cache may
// have yet to see one.
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

// revoke deletes the delegations of a tenant but those for people in keep, and returns them.
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
	for i := range all {
		if slices.Contains(keep, grants.Sudoer(&all[i])) || all[i].DeletionTimestamp != nil {
			continue
		}
		if err := d.delete(ctx, &all[i]); err != nil {
			return gone, err
		}
		gone = append(gone, all[i])
	}
	return gone, nil
}

// delete deletes exactly the delegation that was read.
func (d *delegations) delete(ctx context.Context, have *authority.AuthorityDelegation) error {
	if err := d.Delete(ctx, have, client.Preconditions{UID: &have.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete AuthorityDelegation %s: %w", have.Name, err)
	}
	d.unseen.forget(names.DelegatorOf(have.Status.Delegator.Username), have.Name)
	return nil
}

// delegated is what became of the delegations of a tenant.
type delegated struct {
	// granted are those in force, for the status.
	granted []v1alpha1.SudoDelegation
	// restored are those that were made for people who had none.
	restored []*authority.AuthorityDelegation
	// outdated are those that others have taken the place of. They are deleted once the status
	// names the others.
	outdated []authority.AuthorityDelegation
	// refused is why somebody got none, such as a name that can't be a delegate's.
	refused error
}

// grant makes the delegations that a tenant lacks.
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
		at := slices.IndexFunc(have, func(h authority.AuthorityDelegation) bool { return h.Name == want.Name && isUnchanged(&h) })
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
				return grants.Sudoer(&h) == grants.Sudoer(want) && isUnchanged(&h)
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

// isUnchanged reports whether a delegation is as it was made. Nobody can change more of it than when
// it ends.
func isUnchanged(d *authority.AuthorityDelegation) bool {
	return d.DeletionTimestamp == nil && d.Spec.ExpirationTimestamp == nil
}

// create makes a delegation as the user of the tenant, in the place of one that has its name and
// is another's, or ends.
func (d *delegations) create(ctx context.Context, tenant string, want *authority.AuthorityDelegation) error {
	ctx = asDelegator(ctx, tenant)
	made := want.DeepCopy()
	err := d.asDelegator.Create(ctx, made)
	if apierrors.IsAlreadyExists(err) {
		have := &authority.AuthorityDelegation{}
		if err := d.live.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
			return fmt.Errorf("get AuthorityDelegation %s: %w", want.Name, err)
		}
		if grants.Ours(have, tenant) && isUnchanged(have) {
			want.UID = have.UID // the cache has yet to see it
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

// deleteAllDelegations deletes the delegations that a controller in the other mode has left.
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
