// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Query describes one or more authorization checks of one request, all for the same caller and
// resource, with any verbs. It contains what these checks have read, to be used again.
type Query struct {
	request authorizer.Attributes
	// keys are built when they are first needed: not every check reaches RBAC.
	keys callerKeys

	// allRules is true if the check needs roles without a rule for the resource too.
	allRules bool

	// cache is the cache of the request. It is nil for a query of a single check.
	cache *requestCache
	// continued is set once the cache was passed to a later query of the request.
	continued atomic.Bool
}

// requestCache caches the bindings and roles that the checks of one request read. The checks
// must not run at the same time.
type requestCache struct {
	bindings        bindingCache[*rbacv1.RoleBinding]
	clusterBindings bindingCache[*rbacv1.ClusterRoleBinding]
	roles           roleCache[*rbacv1.Role]
	clusterRoles    roleCache[*rbacv1.ClusterRole]
}

// queryContext is a context.Context that passes a query through the configured authorizers to
// RBAC's listers and getters. It contains the query itself and not a pointer, which saves an
// allocation for every write.
type queryContext struct {
	context.Context
	query Query
}

type queryKey struct{}

func (c *queryContext) Value(key any) any {
	if key == (queryKey{}) {
		return &c.query
	}
	return c.Context.Value(key)
}

// queryFrom returns the query of a context, or nil.
func queryFrom(ctx context.Context) *Query {
	q, _ := ctx.Value(queryKey{}).(*Query)
	return q
}

// For returns the context for one authorization check of the user and the resource in about.
// Don't use that context for any other check: RBAC would not find the bindings of another user, nor
// the rules for another resource. For a user with more than maxGroups groups, and for a request
// without a resource, For returns ctx unchanged, and RBAC lists all bindings.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	if !isIndexable(about) {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{request: about}}
}

// ForSeveral is like For, but for several checks of the same user and resource, with any verbs.
// RBAC reads the bindings, and up to maxRoles roles of each kind, only once for all of these
// checks. The checks must not run concurrently. The Query can be passed to ForMore. It is nil if
// For would return ctx unchanged.
func ForSeveral(ctx context.Context, about authorizer.Attributes) (context.Context, *Query) {
	if !isIndexable(about) {
		return ctx, nil
	}
	c := &struct {
		queryContext
		found requestCache
	}{queryContext: queryContext{Context: ctx, query: Query{request: about}}}
	c.query.cache = &c.found
	return &c.queryContext, &c.query
}

// ForMore is like ForSeveral, but for checks that come some time after those of an earlier query
// of the same request. The new query takes over the cache of the earlier query, and uses those
// cached results that have not changed since. There are two conditions: about is the same pointer
// as in the earlier query, which shows that the request is the same; and no other call of ForMore
// has taken over the cache. If they are not met, or earlier is nil, ForMore does what ForSeveral
// does. earlier must not be used after the call.
func ForMore(ctx context.Context, about authorizer.Attributes, earlier *Query) (context.Context, *Query) {
	if earlier == nil || earlier.cache == nil || !earlier.isFor(about) || earlier.continued.Swap(true) {
		return ForSeveral(ctx, about)
	}
	earlier.cache.recheck()
	c := &queryContext{Context: ctx, query: Query{request: about, keys: earlier.keys, cache: earlier.cache}}
	return c, &c.query
}

// WithAllRules returns a context for a check that needs the rules for other resources too, such as
// the check whether a caller holds all rules of a role. RBAC still finds the bindings by the index,
// but gets each role with all its rules.
func WithAllRules(ctx context.Context) context.Context {
	q := queryFrom(ctx)
	if q == nil || q.allRules {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{request: q.request, keys: q.keys, allRules: true}}
}

// WithoutQuery returns a context without the query of ctx, for a check of another user. In that
// check RBAC lists all bindings.
func WithoutQuery(ctx context.Context) context.Context {
	if queryFrom(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, queryKey{}, (*Query)(nil))
}

// recheck marks the cached results as possibly outdated, so that they are compared with the
// change counters before they are used again.
func (f *requestCache) recheck() {
	f.bindings.recheck, f.clusterBindings.recheck = f.bindings.valid, f.clusterBindings.valid
	f.roles.recheck, f.clusterRoles.recheck = true, true
}

// The methods below return one part of the cache of the request, or nil if the query has no
// cache.

func (q *Query) cachedBindings() *bindingCache[*rbacv1.RoleBinding] {
	if q.cache == nil {
		return nil
	}
	return &q.cache.bindings
}

func (q *Query) cachedClusterBindings() *bindingCache[*rbacv1.ClusterRoleBinding] {
	if q.cache == nil {
		return nil
	}
	return &q.cache.clusterBindings
}

func (q *Query) cachedRoles() *roleCache[*rbacv1.Role] {
	if q.cache == nil {
		return nil
	}
	return &q.cache.roles
}

func (q *Query) cachedClusterRoles() *roleCache[*rbacv1.ClusterRole] {
	if q.cache == nil {
		return nil
	}
	return &q.cache.clusterRoles
}

// isFor reports whether other is the same pointer as the request of the query.
func (q *Query) isFor(other authorizer.Attributes) bool {
	mine, ok := q.request.(*authorizer.AttributesRecord)
	return ok && other == authorizer.Attributes(mine)
}

// isIndexable reports whether the bindings of the user in about can be looked up in the index.
func isIndexable(about authorizer.Attributes) bool {
	caller := about.GetUser()
	return caller != nil && about.IsResourceRequest() && len(caller.GetGroups()) <= maxGroups && len(about.GetNamespace()) <= validation.DNS1123LabelMaxLength
}
