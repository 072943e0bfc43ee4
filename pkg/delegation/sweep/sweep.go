// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// Sweeper removes the delegations that policies issued and that no object names any more, and those that
// kubectl granular lend made and that ended long ago.
type Sweeper struct {
	Delegations *delegation.Index
	// List lists the metadata of all objects of a resource from storage, page by page.
	List func(ctx context.Context, r schema.GroupResource, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error)
	// Remove removes a delegation from storage. It fails if the delegation has changed since it
	// was read.
	Remove func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
	// Now is time.Now, except in tests.
	Now func() time.Time
}

// page is how many objects one list request returns.
const page = 500

// Sweep removes the delegations that are no longer needed, and returns how many it removed.
// After an error it continues with the other delegations.
func (s *Sweeper) Sweep(ctx context.Context) (removed int, failed error) {
	removed, failed = s.removeLent(ctx)
	over, parents := s.Delegations.ExpiredLeases(s.Now())
	if len(over) == 0 {
		return removed, failed
	}
	resources := map[schema.GroupResource][]*delegation.Delegation{}
	for _, d := range over {
		r := schema.GroupResource(d.Source.Status.Cause.Resource)
		resources[r] = append(resources[r], d)
	}
	orphans := map[types.UID]*delegation.Delegation{}
	for r, all := range resources {
		// The objects must be listed after the leases were checked. A write that gave one of these
		// delegations to an object has ended by then, so the list contains the object.
		named, err := s.delegationsNamedBy(ctx, r)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("list %s: %w", r, err))
			continue
		}
		for _, d := range all {
			if !named.Has(d.UID) {
				orphans[d.UID] = d
			}
		}
	}
	retainAncestors(orphans, parents)
	for _, d := range orphans {
		n, err := s.remove(ctx, d.Source)
		removed, failed = removed+n, errors.Join(failed, err)
	}
	return removed, failed
}

// lentStays is how long a delegation that kubectl granular lend made stays after its end, so that its name
// can be looked up. The service account that acts under it is removed with it, because it is owned by it.
const lentStays = 24 * time.Hour

// removeLent removes the delegations that kubectl granular lend made and that ended long ago.
func (s *Sweeper) removeLent(ctx context.Context) (removed int, failed error) {
	for _, d := range s.Delegations.LentUntil(s.Now().Add(-lentStays)) {
		n, err := s.remove(ctx, d)
		removed, failed = removed+n, errors.Join(failed, err)
	}
	return removed, failed
}

// remove removes a delegation that has not changed, and returns how many it removed.
func (s *Sweeper) remove(ctx context.Context, d *v1alpha1.AuthorityDelegation) (int, error) {
	err := s.Remove(ctx, d)
	switch {
	case err == nil:
		return 1, nil
	case apierrors.IsConflict(err):
		return 0, nil
	}
	return 0, fmt.Errorf("remove AuthorityDelegation %q: %w", d.Name, err)
}

// retainAncestors takes the delegations that are to be removed, and deletes from that map the
// ancestors of all delegations that stay. parents has all ancestors of each delegation, not only
// the parent, so one pass is enough.
func retainAncestors(orphans map[types.UID]*delegation.Delegation, parents map[types.UID][]types.UID) {
	staying := sets.New[types.UID]()
	for child, ancestors := range parents {
		if orphans[child] == nil {
			staying.Insert(ancestors...)
		}
	}
	for uid := range staying {
		delete(orphans, uid)
	}
}

// delegationsNamedBy returns the UIDs of all delegations that objects of a resource refer to in
// their stamps.
func (s *Sweeper) delegationsNamedBy(ctx context.Context, r schema.GroupResource) (sets.Set[types.UID], error) {
	out := sets.New[types.UID]()
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := s.List(ctx, r, options)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			out.Insert(policy.StampsOf(&list.Items[i], r).UIDs()...)
		}
		if list.Continue == "" {
			return out, nil
		}
		options.Continue = list.Continue
	}
}
