// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/change"
)

// Demand is one authorized request, or one of the questions that an impersonation asks, with what it
// needed.
type Demand struct {
	// Subject is the subject to which the request is attributed. User is the user whose authority the
	// request used, and Groups are its groups. If the user is a delegator, the log does not have its groups,
	// and GroupsUnknown is true.
	Subject       rbacv1.Subject
	User          string
	Groups        []string
	GroupsUnknown bool
	// Key and Name are what the server authorized the request for. Name may be "".
	Key  ResourceKey
	Name string
	// Verb is the verb of the request, or the verb that allowed an impersonation.
	Verb     string
	AuditID  string
	Received time.Time

	event  *event
	needs  *needs
	walker treeWalker
	// before is the version of the object that the log showed last, or nil.
	before []byte
	// stored is the same for the main object, if the request is about a subresource of another kind.
	stored []byte
}

// demand returns what a request needed for one object. s is the subject to which it is attributed.
func (l *Learner) demand(s *Subject, e *event, key ResourceKey, name string, n *needs) *Demand {
	d := &Demand{
		Subject: s.Subject, Key: key, Name: name, Verb: e.Verb, AuditID: e.AuditID, Received: e.Received, event: e, needs: n,
	}
	caller := e.Caller()
	if n.asked[e.authorizedVerb()] && !key.impersonation {
		d.walker = l.walker(e.ObjectRef)
		d.before = l.cache.get(e.object())
		main := e.object()
		main.part = ""
		d.stored = l.cache.get(main)
	} else {
		caller = e.User
		for verb := range n.ordinary {
			d.Verb = verb
		}
	}
	d.User, d.Groups = caller.Username, caller.Groups
	if delegator, delegated := e.delegated(); delegated && !key.impersonation {
		d.User, d.Groups, d.GroupsUnknown = delegator, nil, true
	}
	return d
}

// changes reports whether the request is an update or a patch of an object that existed and whose fields
// are authorized one by one.
func (d *Demand) changes() bool {
	return d.walker.Walker != nil && (d.Verb == "update" || d.Verb == "patch") && !d.event.creates()
}

// makes reports whether the request creates an object whose fields are authorized one by one.
func (d *Demand) makes() bool {
	return d.walker.Walker != nil && (d.Verb == "create" || d.event.creates())
}

// set returns the fields that the request changed or, if it created the object, that it set. If ordinary
// is true, these are only the fields with an excluded permission. known is false if the log does not show
// them.
func (d *Demand) set(ordinary bool) (set change.Set, known bool) {
	mode := change.All
	if ordinary {
		mode = change.ExcludedOnly
	}
	if d.walker.NothingToCheck(mode) {
		return nil, true
	}
	var err error
	if d.makes() {
		set, err = fieldsOfNew(d.walker.Walker, d.event, mode)
	} else {
		set, err = changed(d.walker.Walker, d.event, d.before)
	}
	return set, err == nil
}

// AddTo adds the request to a use.
func (d *Demand) AddTo(u *Use) { u.add(d.event) }
