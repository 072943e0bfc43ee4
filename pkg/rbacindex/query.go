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

// Query describes the authorizations of one request: one caller and one resource, with any verb.
// It has the request cache.
type Query struct {
	request authorizer.Attributes
	// keys are built on first use: not every authorization reaches RBAC.
	keys callerKeys

	// allRules is true if roles without a rule for the resource are needed too.
	allRules bool

	// cache is the request cache. It is nil if there is only one authorization.
	cache *requestCache
	// continued is set once the cache was passed to a later query.
	continued atomic.Bool
}

// requestCache caches what the authorizations of one request read. Only one of them runs at a
// time.
type requestCache struct {
	bindings        bindingCache[*rbacv1.RoleBinding]
	clusterBindings bindingCache[*rbacv1.ClusterRoleBinding]
	roles           roleCache[*rbacv1.Role]
	clusterRoles    roleCache[*rbacv1.ClusterRole]
}

// queryContext passes a query to the listers and getters, through the configured authorizers.
// Context and query are one allocation, because every write needs one.
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

// For returns the context for one authorization of the user and the resource of request. The
// context must be used for nothing else: other authorizations would find no grants. For a caller
// of more than maxGroups groups it returns ctx, and all bindings are listed.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	if !isIndexable(about) {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{request: about}}
}

// ForSeveral is For for several authorizations in sequence. Bindings, and some roles, are read
// only once. The authorizations must not run concurrently. The query is nil if For would return
// ctx.
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

// ForMore is ForSeveral for authorizations that come some time after those of an earlier query of
// the same request. The earlier query may be nil, and must not be used afterwards. Its cache is
// used if nothing has changed since. If several queries continue the same one, only the first
// gets the cache. The cache is not used unless about is the same pointer as for the earlier
// query: only then is it the same request.
func ForMore(ctx context.Context, about authorizer.Attributes, earlier *Query) (context.Context, *Query) {
	if earlier == nil || earlier.cache == nil || !earlier.isFor(about) || earlier.continued.Swap(true) {
		return ForSeveral(ctx, about)
	}
	earlier.cache.recheck()
	c := &queryContext{Context: ctx, query: Query{request: about, keys: earlier.keys, cache: earlier.cache}}
	return c, &c.query
}

// WithAllRules returns the context for an authorization in which rules for other resources matter
// too. Bindings are found by the index, and roles are returned as they are.
func WithAllRules(ctx context.Context) context.Context {
	q := queryFrom(ctx)
	if q == nil || q.allRules {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{request: q.request, keys: q.keys, allRules: true}}
}

// WithoutQuery returns the context for an authorization of another user: all bindings are listed.
func WithoutQuery(ctx context.Context) context.Context {
	if queryFrom(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, queryKey{}, (*Query)(nil))
}

// recheck marks the cached results as possibly out of date.
func (f *requestCache) recheck() {
	f.bindings.recheck, f.clusterBindings.recheck = f.bindings.valid, f.clusterBindings.valid
	f.roles.recheck, f.clusterRoles.recheck = true, true
}

// The methods below return a part of the request cache, nil if there is none.

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

// isFor reports whether a request is that of the query.
func (q *Query) isFor(other authorizer.Attributes) bool {
	mine, ok := q.request.(*authorizer.AttributesRecord)
	return ok && other == authorizer.Attributes(mine)
}

// isIndexable reports whether the bindings of a request's user are found by the index.
func isIndexable(about authorizer.Attributes) bool {
	caller := about.GetUser()
	return caller != nil && about.IsResourceRequest() && len(caller.GetGroups()) <= maxGroups && len(about.GetNamespace()) <= validation.DNS1123LabelMaxLength
}
