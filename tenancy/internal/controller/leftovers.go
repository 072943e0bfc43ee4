// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

const (
	// maxLeftovers is the maximum length of status.leftovers.
	maxLeftovers = 64
	// maxMaker is the maximum length of the name of a maker in status.leftovers, in bytes.
	maxMaker = 512
	// leftoversInterval is the interval at which a tenant is reconciled while former sudoers have
	// leftovers, or could still get some.
	leftoversInterval = 30 * time.Second
	// lateRequests is the time after the removal of a sudoer in which objects that the sudoer
	// creates can appear. A request is authorized before its body has arrived, and the body can
	// take as long as the server's --request-timeout, a minute by default.
	lateRequests = 150 * time.Second
)

// leftoverKinds are the kinds of objects by which a former sudoer can keep permissions of sudo. The
// first two grant permissions.
var leftoverKinds = []schema.GroupVersionKind{
	rbacv1.SchemeGroupVersion.WithKind("Role"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
}

// leftovers are the objects that former sudoers created or changed with sudo.
type leftovers struct {
	list []v1alpha1.Leftover
	// revokedAt is the time at which the controller last saw that a sudoer left the list.
	revokedAt *metav1.Time
	// again is true if leftovers must be listed again soon.
	again bool
}

// leftovers returns the objects that former sudoers created or changed with sudo, and removes those
// that the tenant does not want. To save requests, it lists objects only if a sudoer was removed
// recently or the status still has leftovers.
func (r *Tenants) leftovers(ctx context.Context, t *v1alpha1.LNamespace, at time.Time) (*leftovers, error) {
	now := unique(t.Spec.Sudoers)
	l := &leftovers{revokedAt: t.Status.RevokedAt}
	left := slices.ContainsFunc(t.Status.Granted.Sudoers, func(s v1alpha1.Subject) bool { return !slices.Contains(now, s) })
	// While grants fail, the status lists the former sudoers for longer. Then the time moves on now
	// and then, and not at each attempt.
	if left && (l.revokedAt == nil || at.Sub(l.revokedAt.Time) >= leftoversInterval) {
		l.revokedAt = &metav1.Time{Time: at.Truncate(time.Second)} // the API has no fractions of a second
	}
	recent := l.revokedAt != nil && at.Sub(l.revokedAt.Time) < lateRequests
	if !recent && len(t.Status.Leftovers) == 0 {
		r.examined.byTenant.Delete(t.UID)
		return l, nil
	}
	var err error
	l.list, err = r.examined.list(t, at, func() ([]v1alpha1.Leftover, error) { return r.examine(ctx, t, now) })
	l.again = recent || len(l.list) > 0
	return l, err
}

// examinations has what the last examination of each tenant found. The removal of a sudoer makes the
// controller reconcile the tenant several times within a moment, because it changes the status and
// deletes objects. Listing the objects once is enough for all of them. The zero value is empty.
type examinations struct{ byTenant sync.Map }

// examination is what was found for one generation of an LNamespace.
type examination struct {
	generation int64
	at         time.Time
	found      []v1alpha1.Leftover
}

// list returns what examine returns, or what it returned at most half an interval ago, unless the
// specification has changed since.
func (e *examinations) list(t *v1alpha1.LNamespace, at time.Time, examine func() ([]v1alpha1.Leftover, error)) ([]v1alpha1.Leftover, error) {
	if last, ok := e.byTenant.Load(t.UID); ok {
		if last := last.(examination); last.generation == t.Generation && at.Sub(last.at) < leftoversInterval/2 {
			return last.found, nil
		}
	}
	found, err := examine()
	if err != nil {
		e.byTenant.Delete(t.UID)
		return found, err
	}
	e.byTenant.Store(t.UID, examination{t.Generation, at, found})
	return found, nil
}

// record writes the leftovers to the status.
func (l *leftovers) record(t *v1alpha1.LNamespace, s *v1alpha1.LNamespaceStatus) {
	s.RevokedAt = l.revokedAt
	s.Leftovers = fairly(l.list)
	if len(l.list) == 0 {
		condition(t, s, v1alpha1.ConditionClean, metav1.ConditionTrue, reasonClean, "")
		return
	}
	message := "status.leftovers lists objects that former sudoers created or changed with sudo"
	if more := len(l.list) - len(s.Leftovers); more > 0 {
		message += fmt.Sprintf(", and %d more have the label %s or %s", more, names.MadeWithSudo, names.ChangedWithSudo)
	}
	condition(t, s, v1alpha1.ConditionClean, metav1.ConditionFalse, reasonLeftovers, message)
}

// examine returns the objects that users who are not in now created or changed with sudo. It finds
// them by labels that admission policies set. If spec.sudo.atRevocation is Remove, examine deletes
// the created objects and returns only the changed objects. An error with one object does not keep
// it from the others.
func (r *Tenants) examine(ctx context.Context, t *v1alpha1.LNamespace, now []v1alpha1.Subject) ([]v1alpha1.Leftover, error) {
	var found []v1alpha1.Leftover
	var failed []error
	for _, gvk := range leftoverKinds {
		items, err := r.labelled(ctx, t, gvk, names.MadeWithSudo)
		failed = append(failed, err)
		for _, object := range items {
			maker := object.Annotations[names.Maker]
			if sudoer(t.Name, now, maker) {
				continue
			}
			if t.Spec.Sudo.AtRevocation != v1alpha1.RemoveLeftovers {
				found = append(found, v1alpha1.Leftover{Kind: gvk.Kind, Name: object.Name, Maker: bounded(maker, maxMaker)})
				continue
			}
			if err := r.removeLeftover(ctx, gvk, object); err != nil {
				failed = append(failed, fmt.Errorf("remove what was created with sudo: %w", err))
				found = append(found, v1alpha1.Leftover{Kind: gvk.Kind, Name: object.Name, Maker: bounded(maker, maxMaker)})
				continue
			}
			r.event(t, corev1.EventTypeNormal, "RemovedLeftover", "Revoke", "deleted the %s %s, which %q created with sudo", gvk.Kind, object.Name, bounded(maker, maxMaker))
		}
	}
	for _, gvk := range leftoverKinds[:2] {
		items, err := r.labelled(ctx, t, gvk, names.ChangedWithSudo)
		failed = append(failed, err)
		for _, object := range items {
			for maker := range strings.SplitSeq(object.Annotations[names.Changers], "\n") {
				if !sudoer(t.Name, now, maker) {
					found = append(found, v1alpha1.Leftover{Kind: gvk.Kind, Name: object.Name, Maker: bounded(maker, maxMaker)})
				}
			}
		}
	}
	// Somebody can be both the maker of an object and one of those who changed it.
	slices.SortFunc(found, byKind)
	return slices.Compact(found), errors.Join(failed...)
}

// labelled returns the objects of a kind with a label in the namespace of the tenant. It leaves out
// Secrets and ServiceAccounts that are being deleted, because nobody can authenticate with them. RBAC
// honours an object that is being deleted.
func (r *Tenants) labelled(ctx context.Context, t *v1alpha1.LNamespace, gvk schema.GroupVersionKind, label string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := r.live.List(ctx, list, client.InNamespace(t.Name), client.MatchingLabels{label: "true"}); err != nil {
		return nil, fmt.Errorf("list objects with the label %s: %w", label, err)
	}
	return slices.DeleteFunc(list.Items, func(object metav1.PartialObjectMetadata) bool {
		return object.DeletionTimestamp != nil && gvk.Group != rbacv1.GroupName
	}), nil
}

// removeLeftover deletes an object that was created with sudo. If it is an object of RBAC, it gives
// nothing afterwards, whatever finalizers it has.
func (r *Tenants) removeLeftover(ctx context.Context, gvk schema.GroupVersionKind, object metav1.PartialObjectMetadata) error {
	only := metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name, UID: object.UID}
	switch gvk.Kind {
	case "RoleBinding":
		return r.delete(ctx, &rbacv1.RoleBinding{ObjectMeta: only})
	case "Role":
		return r.delete(ctx, &rbacv1.Role{ObjectMeta: only})
	}
	object.SetGroupVersionKind(gvk)
	if err := r.Delete(ctx, &object, client.Preconditions{UID: &object.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", gvk.Kind, object.Name, err)
	}
	return nil
}

// fairly returns the first entries, at most maxLeftovers, sorted. If there are more, it takes the
// entries of all makers in turn, so that nobody can hide the entries of others behind many of its own.
func fairly(found []v1alpha1.Leftover) []v1alpha1.Leftover {
	if len(found) <= maxLeftovers {
		return found
	}
	place := map[v1alpha1.Leftover]int{}
	makers := map[string]int{}
	for _, l := range found {
		place[l] = makers[l.Maker]
		makers[l.Maker]++
	}
	found = slices.SortedStableFunc(slices.Values(found), func(a, b v1alpha1.Leftover) int { return cmp.Compare(place[a], place[b]) })[:maxLeftovers]
	slices.SortFunc(found, byKind)
	return found
}

// byKind compares two entries by their kind, in the order of leftoverKinds, and by their name.
func byKind(a, b v1alpha1.Leftover) int {
	kind := func(l v1alpha1.Leftover) int {
		return slices.IndexFunc(leftoverKinds, func(gvk schema.GroupVersionKind) bool { return gvk.Kind == l.Kind })
	}
	return cmp.Or(kind(a)-kind(b), strings.Compare(a.Name, b.Name), strings.Compare(a.Maker, b.Maker))
}

// sudoer reports whether the user maker, who created or changed an object with sudo, is still one
// of the sudoers, which are in now. The user that names.SudoUser returns counts as a sudoer as
// long as a group or a service account is in now, because their requests can have this user name.
func sudoer(tenant string, now []v1alpha1.Subject, maker string) bool {
	return slices.ContainsFunc(now, func(s v1alpha1.Subject) bool {
		if s.Kind == v1alpha1.UserKind {
			return s.Name == maker
		}
		return maker == names.SudoUser(tenant) || s.Kind == v1alpha1.ServiceAccountKind && maker == names.Username(s)
	})
}
