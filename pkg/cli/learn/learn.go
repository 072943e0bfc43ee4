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

// Options limit the events that are used.
type Options struct {
	// SubjectOf returns the subject to which the requests of a user are attributed, and false to
	// ignore the user. If SubjectOf is nil, SubjectOfUser is used.
	SubjectOf func(name string, groups []string) (rbacv1.Subject, bool)
	// Since is the time before which requests are ignored. The objects in their events are still
	// used to find the changes of later requests.
	Since time.Time
	// Memory is the size of the object cache in bytes; 0 means 64 MiB.
	Memory int
}

// Learner collects the usage of subjects from events.
type Learner struct {
	// Events is the number of events of completed requests and of begun watches. Learned is the
	// number of those that are attributed to a subject.
	Events, Learned int
	// Reads is the number of events of get, list and watch, of all users. If it is 0, the logs
	// leave out reads.
	Reads int
	// Writes is the number of successful updates and patches of all users, and Shown is the number
	// of those whose changed fields the log can show. If only Shown is 0, the log is of the level
	// Metadata.
	Writes, Shown int

	trees    Trees
	options  Options
	cache    *objectCache
	subjects map[rbacv1.Subject]*Subject
	walkers  map[walkerKey]*change.Walker
	// watches are the audit IDs of the watches that have begun and not ended.
	watches map[string]struct{}
}

type walkerKey struct {
	of          schema.GroupVersionResource
	subresource string
}

// New returns a learner without any events.
func New(trees Trees, options Options) *Learner {
	if options.Memory == 0 {
		options.Memory = 64 << 20
	}
	return &Learner{
		trees: trees, options: options, cache: newObjectCache(options.Memory),
		subjects: map[rbacv1.Subject]*Subject{}, walkers: map[walkerKey]*change.Walker{}, watches: map[string]struct{}{},
	}
}

// Subjects returns the subjects to which requests are attributed, sorted by name.
func (l *Learner) Subjects() []*Subject {
	return slices.SortedFunc(maps.Values(l.subjects), func(a, b *Subject) int { return strings.Compare(a.String(), b.String()) })
}

// apiServerUser is the user name of the API server itself, which is always authorized.
const apiServerUser = "system:apiserver"

// Use learns from one line of a log. It returns auditlog.ErrNotAnEvent, possibly wrapped, if the
// line is not an audit event, or the error of ctx.
func (l *Learner) Use(ctx context.Context, line []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := decode(line)
	if err != nil {
		return err
	}
	// A watch that has not ended has only an event of the stage ResponseStarted. It was authorized,
	// so its verb was used.
	switch {
	case e.Verb == "watch" && e.Stage == "ResponseStarted":
		l.watches[e.AuditID] = struct{}{}
	case e.Stage != "ResponseComplete":
		return nil
	case e.Verb == "watch":
		// If the log has the event of the stage ResponseStarted, the watch was counted with it. A
		// log may leave out that stage.
		if _, counted := l.watches[e.AuditID]; counted {
			delete(l.watches, e.AuditID)
			return nil
		}
	}
	l.Events++
	l.count(e)
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
	case e.missing():
		// The write changed nothing. It counts as a use of its verb, but the role does not need it.
		s.Missing++
		l.asked(ctx, s, e)
	default:
		l.request(ctx, s, e)
	}
}

// subject returns the subject to which the requests of a user are attributed, or nil if the user is
// ignored.
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

// SubjectOfUser returns the user or service account with a user name, and false for the API server.
func SubjectOfUser(name string, _ []string) (rbacv1.Subject, bool) {
	who, err := roles.ParseSubject("user:" + name)
	return who, err == nil && name != apiServerUser
}

// impersonated counts the verb impersonate for a subject that impersonated a user.
func (l *Learner) impersonated(ctx context.Context, s *Subject, e *event) {
	as := e.ImpersonatedUser
	at := func(p ResourceKey, name string) {
		n := s.needsFor(ctx, p, name)
		n.asked["impersonate"] = true
		countUse(n.ordinary, "impersonate", e)
	}
	if namespace, name, ok := parseServiceAccount(as.Username); ok {
		at(ResourceKey{Namespace: namespace, Resource: "serviceaccounts"}, name)
		return // the groups of a service account need no permission: they follow from its name
	}
	at(ResourceKey{Resource: "users"}, as.Username)
	for _, g := range as.Groups {
		if g != "system:authenticated" {
			at(ResourceKey{Resource: "groups"}, g)
		}
	}
}

// parseServiceAccount splits the user name of a service account.
func parseServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// request counts the verbs and the changed fields of an authorized request, which determine the
// permissions that the subject needed.
func (l *Learner) request(ctx context.Context, s *Subject, e *event) {
	of := e.ObjectRef
	write := e.Verb == "create" || e.Verb == "update" || e.Verb == "patch"
	n := l.asked(ctx, s, e)
	if !write {
		countUse(n.ordinary, e.Verb, e)
		return
	}
	w := l.walker(of)
	s.usage(keyOf(of)).version = of.APIVersion
	if w == nil || e.Verb == "create" {
		countUse(n.ordinary, e.Verb, e)
	}
	if w == nil || !e.succeeded() {
		return // the resource has no permission tree, or the request failed and changed no fields
	}
	verbs, whole := e.verbs()
	if e.Verb == "create" {
		if w.NothingToCheck(change.ExcludedOnly) {
			return
		}
		switch set, err := created(w, e); {
		case err == nil && len(set) > 0:
			n.add(ctx, set, e)
		case err == nil || e.granular(): // create alone is counted, because verbs for the whole object would allow more
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
			n.countVerbs(verbs, e) // the verbs of excluded fields
		}
	}
}

// keyOf returns the resource of a request.
func keyOf(of *objectRef) ResourceKey {
	p := ResourceKey{of.Namespace, of.APIGroup, of.Resource}
	if of.Subresource != "" {
		p.Resource += "/" + of.Subresource
	}
	return p
}

// asked counts the verb of a request as used, and returns the needs for its object.
func (l *Learner) asked(ctx context.Context, s *Subject, e *event) *needs {
	of := e.ObjectRef
	name := of.Name
	if e.Verb == "create" && of.Subresource == "" || e.Verb == "list" || e.Verb == "watch" || e.Verb == "deletecollection" {
		name = "" // the authorization attributes of these requests have no name
	}
	if (e.Verb == "update" || e.Verb == "patch") && e.ResponseStatus.Code == 201 {
		name = "" // an update that creates an object must not limit the role to its name
	}
	n := s.needsFor(ctx, keyOf(of), name)
	n.asked[e.Verb] = true
	return n
}

// countVerbs counts the permission verbs that the server wrote into the event. If n.named has
// maxNamed verbs already, it counts a new verb without its parameter, so that the map stays small.
func (n *needs) countVerbs(verbs []string, e *event) {
	for _, verb := range verbs {
		if n.named[verb] == nil && len(n.named) >= maxNamed {
			verb, _, _ = strings.Cut(verb, "(")
		}
		countUse(n.named, verb, e)
	}
}

// walker returns the walker that finds changed fields of a resource, or nil if the resource has no
// permission tree.
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
