// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// prolonged returns an error if the caller adds an entry that ends later than the entry by which it may change the
// list, as the policy lnamespace-lists does. Who has no entry needs the right to change the list of all LNamespaces: one
// for this LNamespace alone can be left of an entry that is gone, until the controller takes it. Administrators may.
func (l *Lists) prolonged(ctx context.Context, user authenticationv1.UserInfo, before, now *v1alpha1.LNamespace) error {
	var sudoer []v1alpha1.Subject // only the allowance Lists lets sudoers change lists
	if slices.Contains(before.Spec.Sudo.Allow, v1alpha1.AllowLists) {
		sudoer = naming(before.Spec.Sudoers, before, user)
	}
	either := append(naming(before.Spec.Managers, before, user), sudoer...)
	for _, list := range []struct {
		field          string
		held, old, now []v1alpha1.Subject
	}{
		{"users", either, before.Spec.Users, now.Spec.Users},
		{"managers", either, before.Spec.Managers, now.Spec.Managers},
		{"sudoers", sudoer, before.Spec.Sudoers, now.Spec.Sudoers},
	} {
		outlasts := func(entry v1alpha1.Subject) bool {
			lasts := func(own v1alpha1.Subject) bool { return endsWith(entry, own) }
			return !slices.Contains(list.old, entry) && !slices.ContainsFunc(list.held, lasts)
		}
		if !slices.ContainsFunc(list.now, outlasts) {
			continue
		}
		verb := names.FieldVerb(permissions[list.field])
		if len(list.held) == 0 {
			if may, err := l.may(ctx, user, authorizationv1.ResourceAttributes{Verb: verb}); err != nil {
				return err
			} else if may {
				continue
			}
		}
		administrator, err := l.may(ctx, user, authorizationv1.ResourceAttributes{Verb: "update", Subresource: "status"})
		if administrator || err != nil {
			return err
		}
		return fmt.Errorf("spec.%s can't have an entry that ends later than the entry by which you may change it; "+
			"without an entry, you need the verb %s on all LNamespaces", list.field, verb)
	}
	return nil
}

// endsWith reports whether an entry ends with another one, or before it. An end that can't be read is after all others.
func endsWith(entry, other v1alpha1.Subject) bool {
	last, ends := other.End()
	if !ends {
		return true
	}
	end, _ := entry.End()
	return !end.IsZero() && !end.After(last)
}

// naming returns the entries of a list that name the caller. The user that groups and service accounts share for sudo
// tells none of them, so it counts as all of the list of sudoers.
func naming(list []v1alpha1.Subject, t *v1alpha1.LNamespace, user authenticationv1.UserInfo) []v1alpha1.Subject {
	me := names.Person(user.Username)
	var found []v1alpha1.Subject
	for _, entry := range list {
		isNamed := names.Username(entry) == me
		switch {
		case entry.Bare().Kind == v1alpha1.UserKind:
		case user.Username == names.SudoUser(t.Name):
			isNamed = slices.Contains(t.Spec.Sudoers, entry)
		case entry.Kind == v1alpha1.GroupKind:
			isNamed = slices.Contains(user.Groups, entry.Name)
		}
		if isNamed {
			found = append(found, entry)
		}
	}
	return found
}
