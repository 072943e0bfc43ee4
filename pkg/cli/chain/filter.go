// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"strings"
	"time"
)

// Filter selects records. Empty fields match every record.
type Filter struct {
	// User selects records with this user as the caller or as a user of the chain.
	User string
	// Resource has the form pods, deployments.apps or pods/exec. Namespace and Name are the
	// namespace and the name of the request's object.
	Resource, Namespace, Name string
	// Delegation is the name or the UID of a delegation that the request selected or created, or
	// that is part of the chain.
	Delegation string
	// Since and Until limit the time at which a request was received.
	Since, Until time.Time
	// All also includes requests for which the caller used only its own authority, and probes.
	All bool
	// Running also includes requests whose response has begun and not ended, such as watches. Such
	// a request may have a second record, from the event of its end.
	Running bool
}

// Matches reports whether the filter selects a record.
func (f *Filter) Matches(r *Record) bool {
	switch {
	case r.Running && !f.Running,
		!f.All && (!r.OnBehalf() || r.IsProbe()),
		!f.Since.IsZero() && r.Time.Before(f.Since),
		!f.Until.IsZero() && !r.Time.Before(f.Until),
		f.User != "" && !r.involves(f.User),
		f.Delegation != "" && !r.usesDelegation(f.Delegation):
		return false
	}
	if f.Resource == "" && f.Namespace == "" && f.Name == "" {
		return true
	}
	if r.Object == nil {
		return false
	}
	return (f.Resource == "" || f.matchesResource(r)) &&
		(f.Namespace == "" || f.Namespace == r.Object.Namespace) &&
		(f.Name == "" || f.Name == r.Object.Name)
}

// matchesResource reports whether the resource of a record's object matches f.Resource. If
// f.Resource has no group, every group matches; if it has no subresource, every subresource
// matches, and also the object itself.
func (f *Filter) matchesResource(r *Record) bool {
	name, subresource, hasSubresource := strings.Cut(f.Resource, "/")
	name, group, hasGroup := strings.Cut(name, ".")
	return name == r.Object.Resource &&
		(!hasGroup || group == r.Object.APIGroup) &&
		(!hasSubresource || subresource == r.Object.Subresource)
}

func (r *Record) involves(user string) bool {
	if r.Caller.Name == user {
		return true
	}
	for _, e := range r.Chain {
		if isUser(e.By, user) {
			return true
		}
	}
	return false
}

func (r *Record) usesDelegation(delegation string) bool {
	if s := r.Selected; s != nil && s.Kind == "AuthorityDelegation" && (s.Name == delegation || string(s.UID) == delegation) {
		return true
	}
	if d := r.Delegation; d != nil && (d.Name == delegation || d.UID == delegation) {
		return true
	}
	for _, e := range r.Chain {
		if e.Via == Delegation && (e.Name == delegation || e.UID == delegation) {
			return true
		}
	}
	return false
}
