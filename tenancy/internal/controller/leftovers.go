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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/grants"
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

// leftovers are the objects by which members who left can keep permissions.
type leftovers struct {
	list []v1alpha1.Leftover
	// revokedAt is the time at which the controller last saw that a user or a sudoer left the list.
	revokedAt *metav1.Time
	// again is true if leftovers must be listed again soon.
	again bool
}

// leftovers returns the objects by which members who left can keep permissions, and removes those
// that the tenant does not want. To save requests, it lists objects only if somebody was removed
// recently, if the status still has leftovers, or if nobody has looked for objects without a known
// author yet. present is the tenant t with what is in force now. Its sudoers are those who have sudo: who has none
// without a request has left when the request ends.
func (r *Tenants) leftovers(ctx context.Context, t, present *v1alpha1.LNamespace, at time.Time) (*leftovers, error) {
	l := &leftovers{revokedAt: t.Status.RevokedAt}
	acting := unique(grants.Acting(present))
	left := anyLeft(t.Status.Granted.Sudoers, unique(present.Spec.Sudoers)) || anyLeft(t.Status.Granted.Users, unique(present.Spec.Users))
	if present.Spec.Sudo.IsOnRequest() {
		ended, err := r.requestEnded(ctx, t)
		if err != nil {
			return l, err
		}
		// With a change of the specification, sudoers may have begun to need requests.
		left = left || ended || anyLeft(requesters(t), acting) || t.Generation != t.Status.ObservedGeneration
	}
	for _, s := range t.Status.Granted.Sudoers {
		if !slices.Contains(unique(present.Spec.Sudoers), s) {
			r.event(t, corev1.EventTypeNormal, "SudoerRemoved", "Revoke", "the %s %q is no sudoer any more", s.Kind, s.Name)
		}
	}
	// While grants fail, the status lists the former sudoers for longer. Then the time moves on now
	// and then, and not at each attempt.
	if left && (l.revokedAt == nil || at.Sub(l.revokedAt.Time) >= leftoversInterval) {
		l.revokedAt = &metav1.Time{Time: at.Truncate(time.Second)} // the API has no fractions of a second
	}
	recent := l.revokedAt != nil && at.Sub(l.revokedAt.Time) < lateRequests
	if !recent && len(t.Status.Leftovers) == 0 && !isUnexamined(t) {
		r.examined.byTenant.Delete(t.UID)
		return l, nil
	}
	var err error
	l.list, err = r.examined.list(t, acting, at, func() ([]v1alpha1.Leftover, error) {
		return r.examine(ctx, present, acting, l.revokedAt != nil)
	})
	l.again = recent || len(l.list) > 0
	return l, err
}

// requestEnded reports whether sudo by a request ended since the controller last saw somebody leave. The status does not
// name the requester if the controller stopped before it wrote that the request was granted.
func (r *Tenants) requestEnded(ctx context.Context, t *v1alpha1.LNamespace) (bool, error) {
	list := &v1alpha1.SudoRequestList{}
	if err := r.List(ctx, list, client.InNamespace(t.Name), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list the requests for sudo of %s: %w", t.Name, err)
	}
	return slices.ContainsFunc(list.Items, func(q v1alpha1.SudoRequest) bool {
		return q.Status.Until != nil && q.Status.FinishedAt != nil &&
			(t.Status.RevokedAt == nil || !q.Status.FinishedAt.Before(t.Status.RevokedAt))
	}), nil
}

// requesters returns those who had sudo by a request when the status was written.
func requesters(t *v1alpha1.LNamespace) []v1alpha1.Subject {
	var subjects []v1alpha1.Subject
	for _, granted := range t.Status.Sudo {
		subjects = append(subjects, granted.Subject)
	}
	return unique(subjects)
}

// anyLeft reports whether a subject of the list before is not in the list now.
func anyLeft(before, now []v1alpha1.Subject) bool {
	return slices.ContainsFunc(before, func(s v1alpha1.Subject) bool { return !slices.Contains(now, s) })
}

// isUnexamined reports whether the namespace can have Roles and RoleBindings without a known author,
// from the time before a version that records authors or before an administrator handed the namespace
// over, and the controller has not looked for them yet.
func isUnexamined(t *v1alpha1.LNamespace) bool {
	if t.Status.ObservedGeneration == 0 && !t.Status.Adopted {
		return false
	}
	clean := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionClean)
	return clean == nil || clean.Reason == reasonCleanBefore
}

// examinations has what the last examination of each tenant found. The removal of a sudoer makes the
// controller reconcile the tenant several times within a moment, because it changes the status and
// deletes objects. Listing the objects once is enough for all of them. The zero value is empty.
type examinations struct{ byTenant sync.Map }

// examination is what was found for one generation of an LNamespace, and those who had sudo then.
type examination struct {
	generation int64
	acting     []v1alpha1.Subject
	at         time.Time
	found      []v1alpha1.Leftover
}

// list returns what examine returns, or what it returned at most half an interval ago, unless the
// specification, or who has sudo, has changed since.
func (e *examinations) list(
	t *v1alpha1.LNamespace, acting []v1alpha1.Subject, at time.Time, examine func() ([]v1alpha1.Leftover, error),
) ([]v1alpha1.Leftover, error) {
	if last, ok := e.byTenant.Load(t.UID); ok {
		last := last.(examination)
		if last.generation == t.Generation && slices.Equal(last.acting, acting) && at.Sub(last.at) < leftoversInterval/2 {
			return last.found, nil
		}
	}
	found, err := examine()
	if err != nil {
		e.byTenant.Delete(t.UID)
		return found, err
	}
	e.byTenant.Store(t.UID, examination{t.Generation, acting, at, found})
	return found, nil
}

// record writes the leftovers to the status. The condition Clean is False if somebody who left made
// or changed an object, and Unknown if there are only objects whose author is not known.
func (l *leftovers) record(t *v1alpha1.LNamespace, s *v1alpha1.LNamespaceStatus) {
	s.RevokedAt = l.revokedAt
	s.Leftovers = fairly(l.list)
	if len(l.list) == 0 {
		condition(t, s, v1alpha1.ConditionClean, metav1.ConditionTrue, reasonClean, "")
		return
	}
	message := "status.leftovers lists objects by which members who left can keep permissions"
	if more := len(l.list) - len(s.Leftovers); more > 0 {
		message += fmt.Sprintf(", and %d more have the label %s or %s, or none of %s", more, names.MadeWithSudo, names.ChangedWithSudo,
			names.MadeFromOutside)
	}
	if slices.ContainsFunc(l.list, func(l v1alpha1.Leftover) bool { return l.Maker != "" }) {
		condition(t, s, v1alpha1.ConditionClean, metav1.ConditionFalse, reasonLeftovers, message)
		return
	}
	condition(t, s, v1alpha1.ConditionClean, metav1.ConditionUnknown, reasonUnknownAuthor, message+
		"; nobody recorded who made them: delete them, or set the label "+names.MadeFromOutside+"=true on those that may stay")
}

// examine returns the objects by which somebody who left can keep permissions, according to the marks
// that admission policies set. sudoers are those who have sudo now. If departed is false, nobody has left
// yet, and objects that service accounts made do not count.
//
//   - A person who has no sudo made the object. If spec.sudo.atRevocation is Remove, examine deletes
//     the object instead of returning it.
//   - A service account made the object. Members of the tenant can act as a service account, so its
//     name does not say who made the object. It is only reported.
//   - A person who has no sudo, or a service account, changed the object.
//   - A Role or RoleBinding has no mark at all, so its author is not known.
//   - A person who has no sudo delegated, with sudo, what sudo may do. It is treated as what the person made.
//
// An error with one object does not keep it from the others.
func (r *Tenants) examine(ctx context.Context, t *v1alpha1.LNamespace, sudoers []v1alpha1.Subject, departed bool) ([]v1alpha1.Leftover, error) {
	var found []v1alpha1.Leftover
	var failed []error
	left := func(maker string) bool {
		return !sudoer(t.Name, sudoers, maker) && (departed || !isServiceAccount(maker))
	}
	for _, gvk := range leftoverKinds {
		items, err := r.suspects(ctx, t, gvk)
		failed = append(failed, err)
		for _, object := range items {
			report := func(maker string) {
				found = append(found, v1alpha1.Leftover{Kind: gvk.Kind, Name: object.Name, Maker: bounded(maker, maxMaker)})
			}
			if object.Labels[names.ChangedWithSudo] == "true" {
				for maker := range strings.SplitSeq(object.Annotations[names.Changers], "\n") {
					if left(maker) {
						report(maker)
					}
				}
			}
			maker := object.Annotations[names.Maker]
			switch {
			case object.Labels[names.MadeFromOutside] == "true":
			case object.Labels[names.MadeWithSudo] != "true":
				if gvk.Group == rbacv1.GroupName {
					report("")
				}
			case !left(maker):
			case t.Spec.Sudo.AtRevocation != v1alpha1.RemoveLeftovers || isServiceAccount(maker):
				report(maker)
			default:
				if err := r.removeLeftover(ctx, gvk, object); err != nil {
					failed = append(failed, fmt.Errorf("remove what a former sudoer created: %w", err))
					report(maker)
					continue
				}
				r.event(t, corev1.EventTypeNormal, "RemovedLeftover", "Revoke", "deleted the %s %s, which %q created", gvk.Kind, object.Name,
					bounded(maker, maxMaker))
			}
		}
	}
	given, err := r.strays(ctx, t.Name)
	failed = append(failed, err)
	for i := range given {
		d := &given[i]
		maker := names.Person(d.Status.Delegator.Username)
		if !left(maker) {
			continue
		}
		if t.Spec.Sudo.AtRevocation == v1alpha1.RemoveLeftovers && !isServiceAccount(maker) {
			err := client.IgnoreNotFound(r.Delete(ctx, d, client.Preconditions{UID: &d.UID}))
			if err == nil {
				r.event(t, corev1.EventTypeNormal, "RemovedLeftover", "Revoke", "deleted the AuthorityDelegation %s, which %q created", d.Name,
					bounded(maker, maxMaker))
				continue
			}
			failed = append(failed, fmt.Errorf("remove what a former sudoer delegated: %w", err))
		}
		found = append(found, v1alpha1.Leftover{Kind: "AuthorityDelegation", Name: d.Name, Maker: bounded(maker, maxMaker)})
	}
	// Somebody can be both the maker of an object and one of those who changed it.
	slices.SortFunc(found, byKind)
	return slices.Compact(found), errors.Join(failed...)
}

// strays returns the AuthorityDelegations that somebody created with sudo of the tenant, and not the controller. A policy
// refuses to create them, so they are older than the policy, or it was missing.
func (r *Tenants) strays(ctx context.Context, tenant string) ([]authority.AuthorityDelegation, error) {
	reader, options := r.live, []client.ListOption{client.Limit(500)}
	if r.delegations != nil { // then all of them are in the cache, which has no pages
		reader, options = r.Client, nil
	}
	var found []authority.AuthorityDelegation
	for next := ""; ; {
		list := &authority.AuthorityDelegationList{}
		err := reader.List(ctx, list, append(slices.Clip(options), client.Continue(next))...)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // the server does not serve them
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list AuthorityDelegations: %w", err)
		}
		for _, d := range list.Items {
			maker := d.Status.Delegator
			if (names.TenantOfSudo(maker.Username) == tenant || slices.Contains(maker.Groups, names.SudoGroup(tenant))) &&
				!slices.Contains(maker.Groups, names.Delegators) {
				found = append(found, d)
			}
		}
		if next = list.Continue; next == "" || r.delegations != nil {
			return found, nil
		}
	}
}

// isServiceAccount reports whether the user name is that of a service account.
func isServiceAccount(username string) bool {
	return strings.HasPrefix(username, "system:serviceaccount:")
}

// suspects returns the objects of a kind in the namespace of the tenant by which somebody could keep
// permissions: all Roles and RoleBindings that are not the controller's, and the Secrets and
// ServiceAccounts that were made with sudo. It leaves out Secrets and ServiceAccounts that are being
// deleted, because nobody can authenticate with them. RBAC honours an object that is being deleted.
func (r *Tenants) suspects(ctx context.Context, t *v1alpha1.LNamespace, gvk schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	options := []client.ListOption{client.InNamespace(t.Name)}
	if gvk.Group != rbacv1.GroupName {
		options = append(options, client.MatchingLabels{names.MadeWithSudo: "true"})
	}
	if err := r.live.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list the objects of kind %s: %w", gvk.Kind, err)
	}
	// The controller keeps the bindings that it wants as they are, whoever made them. Another one with a name of the
	// controller is nobody's.
	own := map[string]bool{}
	if gvk.Kind == "RoleBinding" {
		wanted, _ := grants.For(t, r.Options)
		for _, object := range wanted {
			if _, ok := object.(*rbacv1.RoleBinding); ok {
				own[object.GetName()] = true
			}
		}
	}
	return slices.DeleteFunc(list.Items, func(object metav1.PartialObjectMetadata) bool {
		return object.DeletionTimestamp != nil && gvk.Group != rbacv1.GroupName || own[object.Name]
	}), nil
}

// removeLeftover deletes an object that a former sudoer created. If it is an object of RBAC, it gives
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
	found = slices.SortedStableFunc(slices.Values(found),
		func(a, b v1alpha1.Leftover) int { return cmp.Compare(place[a], place[b]) })[:maxLeftovers]
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

// sudoer reports whether the user maker, who created or changed an object, is one of the sudoers,
// which are in now. The user that names.SudoUser returns counts as a sudoer as
// long as a group or a service account is in now, because their requests can have this user name.
func sudoer(tenant string, now []v1alpha1.Subject, maker string) bool {
	return slices.ContainsFunc(now, func(s v1alpha1.Subject) bool {
		if s.Kind == v1alpha1.UserKind {
			return s.Name == maker
		}
		return maker == names.SudoUser(tenant) || s.Kind == v1alpha1.ServiceAccountKind && maker == names.Username(s)
	})
}
