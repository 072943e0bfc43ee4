// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/change"
	granular "kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/roles"
)

// Options limit what is learned.
type Options struct {
	// SubjectOf returns the subject that the requests of a user count for, and false for users who are
	// not asked for. If it is nil, each user but the API server itself counts for itself.
	SubjectOf func(name string, groups []string) (rbacv1.Subject, bool)
	// Since leaves out requests that came before it. What they stored is still known.
	Since time.Time
	// Memory is how many bytes of objects are kept to compare with; 0 means 64 MiB.
	Memory int
}

// Learner reads events.
type Learner struct {
	// Events is how many events of requests that ended there were, Learned how many of them
	// were of subjects that are asked for.
	Events, Learned int

	trees    Trees
	options  Options
	cache    *objectCache
	subjects map[rbacv1.Subject]*Subject
	walkers  map[walkerKey]*change.Walker
}

type walkerKey struct {
	of          schema.GroupVersionResource
	subresource string
}

// New returns a learner that has seen nothing.
func New(trees Trees, options Options) *Learner {
	if options.Memory == 0 {
		options.Memory = 64 << 20
	}
	return &Learner{
		trees: trees, options: options, cache: newObjectCache(options.Memory),
		subjects: map[rbacv1.Subject]*Subject{}, walkers: map[walkerKey]*change.Walker{},
	}
}

// Subjects returns who made requests, sorted by name.
func (l *Learner) Subjects() []*Subject {
	return slices.SortedFunc(maps.Values(l.subjects), func(a, b *Subject) int { return strings.Compare(a.String(), b.String()) })
}

// apiServerUser is the API server itself, whom nobody authorizes.
const apiServerUser = "system:apiserver"

// Use learns from a line of a log. An error is auditlog.ErrNoEvent, or that of ctx.
func (l *Learner) Use(ctx context.Context, line []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := decode(line)
	if err != nil {
		return err
	}
	// A watch or a connection that still runs has begun at least.
	if e.Stage != "ResponseComplete" && (e.Stage != "ResponseStarted" || e.Verb != "watch") {
		return nil
	}
	l.Events++
	if e.ObjectRef != nil && e.ObjectRef.Resource != "" {
		l.learn(ctx, e)
		l.cache.record(e)
	}
	return nil
}

func (l *Learner) learn(ctx context.Context, e *event) {
	if e.Received.Before(l.options.Since) {
		return
	}
	var acting *Subject
	if e.ImpersonatedUser != nil {
		if acting = l.subject(e.User); acting != nil {
			l.impersonated(ctx, acting, e)
		}
	}
	s := l.subject(e.caller())
	if s == nil && acting == nil {
		return
	}
	l.Learned++
	switch {
	case s == nil:
	case !e.authorized():
		s.Refused++
	default:
		l.request(ctx, s, e)
	}
}

// subject returns whom the requests of a user count for, nil if it is not asked for.
func (l *Learner) subject(u user) *Subject {
	as := l.options.SubjectOf
	if as == nil {
		as = SubjectOfUser
	}
	who, ok := as(u.Username, u.Groups)
	if !ok {
		return nil
	}
	if l.subjects[who] == nil {
		l.subjects[who] = newSubject(who)
	}
	s := l.subjects[who]
	s.addIdentity(u)
	return s
}

// SubjectOfUser returns the subject that a user is, and false for the API server.
func SubjectOfUser(name string, _ []string) (rbacv1.Subject, bool) {
	who, err := roles.ParseSubject("user:" + name)
	return who, err == nil && name != apiServerUser
}

// impersonated learns that a subject acted as a user.
func (l *Learner) impersonated(ctx context.Context, s *Subject, e *event) {
	as := e.ImpersonatedUser
	at := func(p ResourceKey, name string) {
		n := s.needsFor(ctx, p, name)
		n.asked["impersonate"] = true
		countUse(n.ordinary, "impersonate", e)
	}
	if namespace, name, ok := parseServiceAccount(as.Username); ok {
		at(ResourceKey{Namespace: namespace, Resource: "serviceaccounts"}, name)
		return // its groups follow from its name
	}
	at(ResourceKey{Resource: "users"}, as.Username)
	for _, g := range as.Groups {
		if g != "system:authenticated" {
			at(ResourceKey{Resource: "groups"}, g)
		}
	}
}

// parseServiceAccount takes the user name of a service account apart.
func parseServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// request learns what a request needed that was authorized.
func (l *Learner) request(ctx context.Context, s *Subject, e *event) {
	of := e.ObjectRef
	p := ResourceKey{of.Namespace, of.APIGroup, of.Resource}
	if of.Subresource != "" {
		p.Resource += "/" + of.Subresource
	}
	name := of.Name
	if e.Verb == "create" && of.Subresource == "" || e.Verb == "list" || e.Verb == "watch" || e.Verb == "deletecollection" {
		name = "" // an authorizer is not told one
	}
	write := e.Verb == "create" || e.Verb == "update" || e.Verb == "patch"
	if write && e.Verb != "create" && e.ResponseStatus.Code == 201 {
		name = "" // what is created by an update has a name that a role must not depend on
	}
	n := s.needsFor(ctx, p, name)
	n.asked[e.Verb] = true
	if !write {
		countUse(n.ordinary, e.Verb, e)
		return
	}
	w := l.walker(of)
	s.usage(p).version = of.APIVersion
	if w == nil || e.Verb == "create" {
		countUse(n.ordinary, e.Verb, e)
	}
	if w == nil || !e.succeeded() {
		return // what was not made has no fields that are known
	}
	verbs, whole := e.verbs()
	if e.Verb == "create" {
		if w.NothingToCheck(change.ExcludedOnly) {
			return
		}
		switch set, err := created(w, e); {
		case err == nil && len(set) > 0:
			n.add(ctx, set, e)
		case err == nil || e.granular(): // the verb create is less than what covered it
		case whole:
			n.countVerbs(verbs, e)
		}
		return
	}
	set, err := changed(w, e, l.cache.get(e.object()))
	switch {
	case err == nil && len(set) > 0:
		n.fields = true
		n.add(ctx, set, e)
	case err == nil, e.granular() && whole:
		n.fields = true
		if len(verbs) == 0 || err == nil {
			n.unchanged++
		} else {
			n.countVerbs(verbs, e)
		}
	default:
		countUse(n.unknown, e.Verb, e)
		if whole {
			n.countVerbs(verbs, e) // those of excluded fields
		}
	}
}

// countVerbs counts permission verbs that a server wrote down. Where there are too many parameters
// of one permission, it is the permission without them that is kept.
func (n *needs) countVerbs(verbs []string, e *event) {
	for _, verb := range verbs {
		if n.named[verb] == nil && len(n.named) >= maxNamed {
			verb, _, _ = strings.Cut(verb, "(")
		}
		countUse(n.named, verb, e)
	}
}

// walker returns what finds changes, nil for what has no permissions of fields.
func (l *Learner) walker(of *objectRef) *change.Walker {
	key := walkerKey{schema.GroupVersionResource{Group: of.APIGroup, Version: of.APIVersion, Resource: of.Resource}, of.Subresource}
	w, known := l.walkers[key]
	if !known {
		var tree *granular.Tree
		if tree, _ = l.trees.Tree(key.of, key.subresource); tree != nil {
			w = change.NewWalker(tree)
		}
		l.walkers[key] = w
	}
	return w
}
