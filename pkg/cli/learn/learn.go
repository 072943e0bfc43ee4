// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/cli/auditlog"
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
	// Refused also learns requests that the authorizer refused; see attempts.
	Refused bool
	// Each, if it is set, gets what each authorized request needed. The rules of the subjects are then
	// empty, since nothing else is kept of a request.
	Each func(context.Context, *Demand)
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
	// Paths are the requests without a resource, of all users.
	Paths Paths

	// seen are the resources that the requests of all users are about.
	seen map[schema.GroupResource]*seen

	trees    Trees
	options  Options
	cache    *objectCache
	subjects map[rbacv1.Subject]*Subject
	walkers  map[walkerKey]treeWalker
	// watches are the audit IDs of the watches that have begun and not ended.
	watches map[string]struct{}
}

type walkerKey struct {
	of          schema.GroupVersionResource
	subresource string
}

// treeWalker finds changed fields of a resource. Walker is nil if the resource has no permission tree.
// known is false if the tree could not be read, so that the resource may have one.
type treeWalker struct {
	*change.Walker
	known bool
}

// New returns a learner without any events.
func New(trees Trees, options Options) *Learner {
	return &Learner{
		trees: trees, options: options, cache: newObjectCache(cmp.Or(options.Memory, 64<<20)),
		seen: map[schema.GroupResource]*seen{}, subjects: map[rbacv1.Subject]*Subject{}, walkers: map[walkerKey]treeWalker{},
		watches: map[string]struct{}{},
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
	if e.isRehearsal() {
		l.rehearsal(e)
		return nil
	}
	l.count(e)
	switch {
	case e.ObjectRef == nil || e.ObjectRef.Resource == "":
		l.path(e)
	case !roles.IsPattern(e.Verb, e.ObjectRef.APIGroup, e.ObjectRef.Resource):
		l.learn(ctx, e)
		l.cache.record(e)
	}
	return nil
}

// rehearsal counts a question of this plugin.
func (l *Learner) rehearsal(e *event) {
	if e.Received.Before(l.options.Since) {
		return
	}
	if s := l.subject(e.Caller()); s != nil {
		s.Rehearsed++
	}
}

func (l *Learner) learn(ctx context.Context, e *event) {
	if e.Received.Before(l.options.Since) {
		return
	}
	var acting *Subject
	if e.ImpersonatedUser != nil {
		if acting = l.subject(e.User); acting != nil {
			l.use(ctx, acting, e, l.impersonated)
		}
	}
	s := l.subject(e.Caller())
	if delegator, ok := e.delegated(); ok {
		if s != nil && e.authorized() {
			s.Delegated++
		}
		s = l.delegator(delegator)
	}
	if s == nil && acting == nil {
		return
	}
	l.Learned++
	switch {
	case s == nil:
	case !e.authorized():
		s.Refused++
		if l.options.Refused {
			s.attempt(e)
		}
	case e.missing():
		// The write changed nothing. It counts as a use of its verb, but the role does not need it.
		s.Missing++
		l.asked(ctx, s, e)
	default:
		l.use(ctx, s, e, l.request)
	}
}

// use counts what a request of a subject needed, by one of the methods request and impersonated. With
// Options.Each, it counts for this request alone.
func (l *Learner) use(ctx context.Context, s *Subject, e *event, count func(context.Context, *Subject, *event)) {
	if l.options.Each == nil {
		count(ctx, s, e)
		return
	}
	alone := newSubject(s.Subject)
	count(ctx, alone, e)
	s.NotImpersonated += alone.NotImpersonated
	for _, key := range slices.SortedFunc(maps.Keys(alone.usages), ResourceKey.compare) {
		u := alone.usages[key]
		if len(u.unnamed.asked) > 0 {
			l.options.Each(ctx, l.demand(s, e, key, "", u.unnamed))
		}
		for _, name := range slices.Sorted(maps.Keys(u.names)) {
			l.options.Each(ctx, l.demand(s, e, key, name, u.names[name]))
		}
	}
}

// delegator returns the subject to which the requests under a delegation of a user are attributed,
// or nil. The log does not have the groups of the user.
func (l *Learner) delegator(name string) *Subject {
	if name == "" {
		return nil
	}
	s := l.subject(user{Username: name})
	if s != nil {
		s.GroupsUnknown = true
	}
	return s
}

// subject returns the subject to which the requests of a user are attributed, or nil if the user is
// ignored.
func (l *Learner) subject(u user) *Subject {
	subjectOf := l.options.SubjectOf
	if subjectOf == nil {
		subjectOf = SubjectOfUser
	}
	who, ok := subjectOf(u.Username, u.Groups)
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

// request counts the verbs and the changed fields of an authorized request, which determine the
// permissions that the subject needed.
func (l *Learner) request(ctx context.Context, s *Subject, e *event) {
	ref := e.ObjectRef
	write := e.Verb == "create" || e.Verb == "update" || e.Verb == "patch"
	n := l.asked(ctx, s, e)
	if !write {
		countUse(n.ordinary, e.authorizedVerb(), e)
		return
	}
	w := l.walker(ref).Walker
	s.usage(keyOf(ref)).version = ref.APIVersion
	if e.creates() {
		// The server asks for create as well, for the name in the path. With create, the verb granular
		// allows such a request for all fields without an excluded permission.
		n.asked["create"] = true
		countUse(n.ordinary, "create", e)
	}
	if w == nil || e.Verb == "create" {
		countUse(n.ordinary, e.Verb, e)
	}
	if w == nil || !e.succeeded() {
		return // the resource has no permission tree, or the request failed and changed no fields
	}
	verbs, whole := e.verbs()
	if e.Verb == "create" || e.creates() {
		n.granular = n.granular || e.creates()
		if w.NothingToCheck(change.ExcludedOnly) {
			return
		}
		switch set, err := created(w, e); {
		case err == nil && len(set) > 0:
			n.add(ctx, set, e)
		case err == nil || e.Verb == "create" && e.granular(): // create alone is counted, because verbs for the whole object would allow more
		case whole:
			n.countVerbs(verbs, e)
		}
		return
	}
	set, err := changed(w, e, l.cache.get(e.object()))
	switch {
	case err == nil && len(set) > 0:
		n.fields, n.granular = true, true
		n.add(ctx, set, e)
	case err == nil, e.granular() && whole:
		n.fields, n.granular = true, true
		if len(verbs) == 0 || !e.granular() || !whole {
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
func keyOf(ref *auditlog.ObjectReference) ResourceKey {
	p := ResourceKey{Namespace: ref.Namespace, Group: ref.APIGroup, Resource: ref.Resource}
	if ref.Subresource != "" {
		p.Resource += "/" + ref.Subresource
	}
	return p
}

// asked counts the verb of a request as used, and returns the needs for its object.
func (l *Learner) asked(ctx context.Context, s *Subject, e *event) *needs {
	n := s.needsFor(ctx, keyOf(e.ObjectRef), authorizedName(e))
	n.asked[e.authorizedVerb()] = true
	return n
}

// authorizedName returns the name for which the server authorized a request. A create by POST has
// none. A list or watch has one if its field selector selects one name.
func authorizedName(e *event) string {
	if e.Verb == "create" && e.ObjectRef.Subresource == "" {
		return ""
	}
	return e.ObjectRef.Name
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

// walker returns the walker that finds changed fields of a resource.
func (l *Learner) walker(ref *auditlog.ObjectReference) treeWalker {
	key := walkerKey{schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource}, ref.Subresource}
	w, known := l.walkers[key]
	if !known {
		tree, err := l.trees.Tree(key.of, key.subresource)
		w.known = err == nil
		if tree != nil {
			w.Walker = change.NewWalker(tree)
		}
		l.walkers[key] = w
	}
	return w
}
