// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

const (
	// Patience is the time after its creation in which a request must be decided and granted. So an
	// approval that the controller sees late, because it was away, gives nothing.
	Patience = time.Hour
	// Kept is how long a request is kept after it was denied, refused or expired, or sudo ended.
	Kept = 7 * 24 * time.Hour
	// longest is the longest time of a request if spec.sudo.maxDuration is empty.
	longest = 8 * time.Hour
	// most is the number of people who can have sudo by a request in one tenant at a time.
	most = 256
)

// Judge returns the status of a request at a time. t is the LNamespace of its namespace, or nil if there
// is none. The time is that of the controller: what a client wrote about time does not matter.
func Judge(t *v1alpha1.LNamespace, r *v1alpha1.SudoRequest, at time.Time) v1alpha1.SudoRequestStatus {
	status := *r.Status.DeepCopy()
	if status.State.IsFinal() {
		return status
	}
	state, message := judge(t, r, at)
	status.State, status.Message = state, message
	switch {
	case state.IsFinal():
		status.FinishedAt = &metav1.Time{Time: at.Truncate(time.Second)}
	case state == v1alpha1.RequestGranted && status.Until == nil:
		end := at.Add(r.Spec.Duration.Length())
		entry, _ := sudoer(t, r.Spec.Requester, at)
		if own, ends := entry.End(); ends && own.Before(end) {
			end = own // nobody has sudo for longer than it may request it
		}
		status.Until = &metav1.Time{Time: end.Truncate(time.Second)}
	}
	return status
}

func judge(t *v1alpha1.LNamespace, r *v1alpha1.SudoRequest, at time.Time) (v1alpha1.RequestState, string) {
	running := r.Status.State == v1alpha1.RequestGranted
	if r.Spec.Decision != nil && r.Spec.Decision.Verdict != v1alpha1.Approved {
		return v1alpha1.RequestDenied, fmt.Sprintf("by %q", r.Spec.Decision.Author.Username)
	}
	refused := v1alpha1.RequestRefused
	if running {
		refused = v1alpha1.RequestEnded
	}
	if t == nil || t.DeletionTimestamp != nil {
		return refused, "there is no such tenant"
	}
	if !t.Spec.Sudo.IsOnRequest() {
		return refused, "sudo in this tenant needs no request"
	}
	if _, ok := sudoer(t, r.Spec.Requester, at); !ok {
		return refused, fmt.Sprintf("%q is no sudoer", r.Spec.Requester.Username)
	}
	limit, length := cmp.Or(t.Spec.Sudo.MaxDuration.Length(), longest), r.Spec.Duration.Length()
	if running {
		// Whoever makes the rules stricter means those who have sudo, too.
		switch {
		case length > limit:
			return v1alpha1.RequestEnded, fmt.Sprintf("the duration is %s, and may be %s at most now", length, limit)
		case t.Spec.Sudo.Approval != "" && (r.Spec.Decision == nil || isAccount(r.Spec.Requester)):
			return v1alpha1.RequestEnded, "another sudoer or a manager must approve it now"
		}
		if r.Status.Until == nil || !at.Before(r.Status.Until.Time) {
			return v1alpha1.RequestEnded, "its time has passed"
		}
		return v1alpha1.RequestGranted, r.Status.Message
	}
	if length < time.Second || length > limit {
		return refused, fmt.Sprintf("the duration is %s, and may be %s at most", length, limit)
	}
	if at.Sub(r.CreationTimestamp.Time) >= Patience {
		return v1alpha1.RequestExpired, fmt.Sprintf("it was not granted within %s", Patience)
	}
	if t.Spec.Sudo.Approval == "" {
		return v1alpha1.RequestGranted, "no approval is needed"
	}
	if isAccount(r.Spec.Requester) {
		return refused, "a service account can't request sudo that somebody must approve: those who approve can act as it"
	}
	if r.Spec.Decision == nil {
		return v1alpha1.RequestPending, "another sudoer or a manager must approve it"
	}
	if err := mayApprove(t, r.Spec.Requester, r.Spec.Decision.Author, at); err != nil {
		return refused, err.Error()
	}
	return v1alpha1.RequestGranted, fmt.Sprintf("approved by %q", r.Spec.Decision.Author.Username)
}

// mayApprove returns an error if the author of a decision may not approve the request of the other now.
func mayApprove(t *v1alpha1.LNamespace, requester, author v1alpha1.Person, at time.Time) error {
	if names.Person(author.Username) == names.Person(requester.Username) || author.UID != "" && author.UID == requester.UID {
		return fmt.Errorf("%q can't approve its own request", author.Username)
	}
	if isAccount(author) {
		return fmt.Errorf("%q is a service account, and can't approve: the requester may be able to act as it", author.Username)
	}
	if _, ok := listed(slices.Concat(t.Spec.Sudoers, t.Spec.Managers), author, at); !ok {
		return fmt.Errorf("%q, who approved, is no sudoer and no manager", author.Username)
	}
	return nil
}

// sudoer returns the entry of the list of sudoers by which a person is a sudoer.
func sudoer(t *v1alpha1.LNamespace, p v1alpha1.Person, at time.Time) (v1alpha1.Subject, bool) {
	return listed(t.Spec.Sudoers, p, at)
}

// listed returns the entry of a list that names the person and is in force. If there are several, it
// returns the one that ends last. No entry names a user of the system or one that exists for sudo.
func listed(list []v1alpha1.Subject, p v1alpha1.Person, at time.Time) (best v1alpha1.Subject, ok bool) {
	if isReserved(p) {
		return v1alpha1.Subject{}, false
	}
	for _, entry := range InForce(list, at) {
		named := names.Username(entry) == p.Username
		if entry.Kind == v1alpha1.GroupKind {
			named = slices.Contains(p.Groups, entry.Name)
		}
		if named && (!ok || endsLater(entry, best)) {
			best, ok = entry, true
		}
	}
	return best, ok
}

const accountPrefix = "system:serviceaccount:"

func isAccount(p v1alpha1.Person) bool { return strings.HasPrefix(p.Username, accountPrefix) }

// isReserved reports whether nobody is behind the name, or somebody unknown.
func isReserved(p v1alpha1.Person) bool {
	return p.Username == "" || strings.HasPrefix(p.Username, names.Prefix) || strings.HasPrefix(p.Username, "system:") && !isAccount(p) ||
		slices.ContainsFunc(p.Groups, func(g string) bool { return strings.HasPrefix(g, names.Prefix) })
}

// granted returns who has sudo by the requests of a tenant. Of several requests of a person, the one that
// ends last counts.
func granted(t *v1alpha1.LNamespace, requests []v1alpha1.SudoRequest, at time.Time) []v1alpha1.GrantedSudo {
	if !t.Spec.Sudo.IsOnRequest() {
		return nil
	}
	var all []v1alpha1.GrantedSudo
	for i := range requests {
		r := &requests[i]
		status := Judge(t, r, at)
		if r.Status.State != v1alpha1.RequestGranted || status.State != v1alpha1.RequestGranted || r.DeletionTimestamp != nil {
			continue
		}
		g := v1alpha1.GrantedSudo{Subject: subject(r.Spec.Requester), Request: r.Name}
		g.Subject.Until = status.Until.UTC().Format(time.RFC3339)
		if r.Spec.Decision != nil {
			g.ApprovedBy = r.Spec.Decision.Author.Username
		}
		if i := slices.IndexFunc(all, func(other v1alpha1.GrantedSudo) bool { return other.Subject.Same(g.Subject) }); i < 0 {
			all = append(all, g)
		} else if endsLater(g.Subject, all[i].Subject) {
			all[i] = g
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.GrantedSudo) int { return strings.Compare(a.Request, b.Request) })
	return all[:min(len(all), most)]
}

// subject returns the subject that stands for a person.
func subject(p v1alpha1.Person) v1alpha1.Subject {
	if namespace, name, ok := strings.Cut(strings.TrimPrefix(p.Username, accountPrefix), ":"); ok && isAccount(p) {
		return v1alpha1.Subject{Kind: v1alpha1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: p.Username}
}

// Again returns how long the status of a request stays as it is, if nobody changes anything.
func Again(r *v1alpha1.SudoRequest, s v1alpha1.SudoRequestStatus, at time.Time) time.Duration {
	next := r.CreationTimestamp.Add(Patience)
	switch {
	case s.State.IsFinal() && s.FinishedAt != nil:
		next = s.FinishedAt.Add(kept(s))
	case s.State == v1alpha1.RequestGranted && s.Until != nil:
		next = s.Until.Time
	}
	return max(next.Sub(at), time.Millisecond)
}

// IsOld reports whether a request is finished for so long that it can be deleted.
func IsOld(r *v1alpha1.SudoRequest, at time.Time) bool {
	return r.Status.State.IsFinal() && r.Status.FinishedAt != nil && at.Sub(r.Status.FinishedAt.Time) >= kept(r.Status)
}
