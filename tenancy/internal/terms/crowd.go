// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

const (
	// Open is the number of requests of one person in a tenant that can wait or give sudo at a time.
	Open = 10
	// Filed is the number of its requests that are there at a time, with those that are finished.
	Filed = 500
)

// crowded is the message of a request that is refused because its requester has too many.
func crowded() string {
	return fmt.Sprintf("the requester has %d requests that wait or give sudo, or %d in all; withdraw some of your own, or wait", Open, Filed)
}

// IsCrowded reports whether a request was refused because its requester had too many. Such a request is kept no longer
// than one could have waited: its name is free again only when nobody remembers it.
func IsCrowded(s v1alpha1.SudoRequestStatus) bool {
	return s.State == v1alpha1.RequestRefused && s.Message == crowded()
}

// JudgeNew returns the status of a request that has none yet. all are the requests in its namespace. It refuses a
// request of somebody who has too many, and else judges it as Judge does.
func JudgeNew(t *v1alpha1.LNamespace, r *v1alpha1.SudoRequest, all []v1alpha1.SudoRequest, at time.Time) v1alpha1.SudoRequestStatus {
	open, filed := 0, 0
	for i := range all {
		other := &all[i]
		switch {
		case other.UID == r.UID || IsCrowded(other.Status) || !together(t, other.Spec.Requester, r.Spec.Requester):
		case other.Status.State == "" && !isOlder(other, r): // it is judged after this one
		default:
			filed++
			if !other.Status.State.IsFinal() {
				open++
			}
		}
	}
	if open < Open && filed < Filed {
		return Judge(t, r, at)
	}
	finished := &metav1.Time{Time: at.Truncate(time.Second)}
	return v1alpha1.SudoRequestStatus{State: v1alpha1.RequestRefused, Message: crowded(), FinishedAt: finished}
}

// isOlder reports whether a was created before b. Of two of the same second, the UID decides, which no client chooses.
func isOlder(a, b *v1alpha1.SudoRequest) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID)) < 0
}

// together reports whether the requests of two people count together: those of one person by several names, if the
// authenticator has the same UID for them, and those of all service accounts that no list names, because people of
// the tenant create any number of these.
func together(t *v1alpha1.LNamespace, a, b v1alpha1.Person) bool {
	return a.UID != "" && a.UID == b.UID || counted(t, a) == counted(t, b)
}

// counted returns the name under which the requests of a person are counted.
func counted(t *v1alpha1.LNamespace, p v1alpha1.Person) string {
	isListed := func(s v1alpha1.Subject) bool {
		return s.Kind == v1alpha1.ServiceAccountKind && names.Username(s) == p.Username
	}
	if isAccount(p) && (t == nil || !slices.ContainsFunc(t.Spec.Sudoers, isListed)) {
		return accountPrefix // no user has this name
	}
	return names.Person(p.Username)
}

// kept is how long a finished request is kept.
func kept(s v1alpha1.SudoRequestStatus) time.Duration {
	if IsCrowded(s) {
		return Patience
	}
	return Kept
}
