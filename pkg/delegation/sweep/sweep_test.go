// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/delegation/sweep"
)

var (
	created = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	pods    = schema.GroupResource{Resource: "pods"}
)

// one returns a delegation that a policy issued, with the delegations under as its ancestors.
func one(name string, under ...string) *v1alpha1.AuthorityDelegation {
	d := &v1alpha1.AuthorityDelegation{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1",
			CreationTimestamp: metav1.Time{Time: created}},
		Status: v1alpha1.AuthorityDelegationStatus{Cause: &v1alpha1.DelegationCause{Policy: "p", Resource: v1alpha1.GroupResource(pods), OrphanSeconds: 600}},
	}
	for _, of := range under {
		d.Status.History = append(d.Status.History, v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, Name: of, UID: types.UID(of)})
	}
	return d
}

// asked returns a delegation that a user created, and no policy.
func asked(name string, under ...string) *v1alpha1.AuthorityDelegation {
	d := one(name, under...)
	d.Status.Cause = nil
	return d
}

func renewed(d *v1alpha1.AuthorityDelegation, after time.Duration) *v1alpha1.AuthorityDelegation {
	d.Status.Cause.Renewed = &metav1.Time{Time: created.Add(after)}
	return d
}

// world is the storage that a sweeper lists objects from and removes delegations from.
type world struct {
	named   []string
	pages   int
	failing error
	conflict,
	removed []string
}

func (w *world) list(_ context.Context, r schema.GroupResource, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if w.failing != nil {
		return nil, w.failing
	}
	out, i := &metav1.PartialObjectMetadataList{}, 0
	if options.Continue != "" {
		fmt.Sscan(options.Continue, &i)
	}
	w.pages++
	if i < len(w.named) {
		out.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{policy.Prefix(r) + "p": policy.Stamp(w.named[i], types.UID(w.named[i]))}}}}
		if i+1 < len(w.named) {
			out.Continue = fmt.Sprint(i + 1)
		}
	}
	return out, nil
}

func (w *world) remove(_ context.Context, d *v1alpha1.AuthorityDelegation) error {
	if slices.Contains(w.conflict, d.Name) {
		return apierrors.NewConflict(v1alpha1.Resource("authoritydelegations"), d.Name, errors.New("it was renewed"))
	}
	w.removed = append(w.removed, d.Name)
	return nil
}

// TestSweep holds that a delegation is removed if its lease is over and no object names it. It
// stays if an object names it, if a delegation that stays has it as an ancestor, or if the
// objects could not be listed.
//
// Attack: racing the cleanup, so that an object names a removed delegation, or removing the parent of a
// delegation in use
// Answer: the delegation stays, or it is removed before the write renews it and the write creates another
func TestSweep(t *testing.T) {
	after := 11 * time.Minute
	for name, tc := range map[string]struct {
		stored []*v1alpha1.AuthorityDelegation
		world
		after time.Duration
		want  []string
		fails bool
	}{
		"orphan": {stored: []*v1alpha1.AuthorityDelegation{one("a")}, after: after,
			want: []string{"a"}},
		"young": {stored: []*v1alpha1.AuthorityDelegation{one("a")}, after: 9 * time.Minute},
		"named": {stored: []*v1alpha1.AuthorityDelegation{one("a"), one("b")},
			world: world{named: []string{"x", "y", "a"}}, after: after, want: []string{"b"}},
		"renewed": {stored: []*v1alpha1.AuthorityDelegation{renewed(one("a"), 6*time.Minute)},
			after: after},
		"renewed long ago": {stored: []*v1alpha1.AuthorityDelegation{renewed(one("a"), 6*time.Minute)},
			after: 17 * time.Minute, want: []string{"a"}},
		"renewed as it is swept": {stored: []*v1alpha1.AuthorityDelegation{one("a")},
			world: world{conflict: []string{"a"}}, after: after},
		"parent of one in use": {stored: []*v1alpha1.AuthorityDelegation{one("a"), one("b", "a"), one("c", "a", "b")},
			world: world{named: []string{"c"}}, after: after},
		"parent of another's": {stored: []*v1alpha1.AuthorityDelegation{one("a"), asked("b", "a")}, after: after},
		"parent of an orphan": {stored: []*v1alpha1.AuthorityDelegation{one("a"), one("b", "a")}, after: after,
			want: []string{"a", "b"}},
		"parent of a young one": {stored: []*v1alpha1.AuthorityDelegation{one("a"), renewed(one("b", "a"), 6*time.Minute)},
			after: after},
		"asked for": {stored: []*v1alpha1.AuthorityDelegation{asked("a")}, after: after},
		"objects can't be listed": {stored: []*v1alpha1.AuthorityDelegation{one("a")},
			world: world{failing: errors.New("down")}, after: after, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			x := delegation.NewIndex()
			for _, d := range tc.stored {
				x.Observe(d, false)
			}
			w := tc.world
			s := sweep.Sweeper{Delegations: x, List: w.list, Remove: w.remove,
				Now: func() time.Time { return created.Add(tc.after) }}
			n, err := s.Sweep(t.Context())
			slices.Sort(w.removed)
			if !slices.Equal(w.removed, tc.want) || n != len(tc.want) || (err != nil) != tc.fails {
				t.Errorf("removed %v, error %v, wanted %v", w.removed, err, tc.want)
			}
			if len(tc.named) > 0 && w.pages < len(tc.named) {
				t.Errorf("%d pages were read of %d", w.pages, len(tc.named))
			}
		})
	}
}

// TestSweepLent checks that a delegation which kubectl granular lend made is removed a day after its end,
// and no other delegation that a user created.
func TestSweepLent(t *testing.T) {
	until := func(d *v1alpha1.AuthorityDelegation, label string, after time.Duration) *v1alpha1.AuthorityDelegation {
		d.Labels = map[string]string{selection.LentLabel: label}
		d.Status.ExpirationTimestamp = &metav1.Time{Time: created.Add(after)}
		return d
	}
	endless := asked("endless")
	endless.Labels = map[string]string{selection.LentLabel: "true"}
	x := delegation.NewIndex()
	for _, d := range []*v1alpha1.AuthorityDelegation{until(asked("old"), "true", 0), until(asked("recent"), "true", 2*time.Hour),
		until(asked("other"), "", 0), until(asked("conflict"), "true", 0), until(asked("failing"), "true", 0), endless} {
		x.Observe(d, false)
	}
	var gone []string
	s := sweep.Sweeper{Delegations: x, Now: func() time.Time { return created.Add(25 * time.Hour) },
		Remove: func(_ context.Context, d *v1alpha1.AuthorityDelegation) error {
			switch d.Name {
			case "conflict":
				return apierrors.NewConflict(schema.GroupResource{}, d.Name, errors.New("changed"))
			case "failing":
				return errors.New("no storage")
			}
			gone = append(gone, d.Name)
			return nil
		}}
	n, err := s.Sweep(t.Context())
	if n != 1 || !slices.Equal(gone, []string{"old"}) || err == nil || !strings.Contains(err.Error(), "failing") {
		t.Errorf("removed %d: %v, error %v", n, gone, err)
	}
}
