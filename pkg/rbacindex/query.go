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

// Query is what one request's questions are about: one caller and one resource, whatever
// the verb. It holds what the questions found.
type Query struct {
	request authorizer.Attributes
	// keys are made when they are needed: not all questions get as far as RBAC.
	keys callerKeys

	// allRules is true if roles without a rule about the resource are not left out.
	allRules bool

	// cache is what questions found so far, for the next; nil where there is no next.
	cache *requestCache
	// continued is set once found went on to a later query.
	continued atomic.Bool
}

// requestCache is what the questions about one request found. One of them is asked at a time.
type requestCache struct {
	bindings        bindingCache[*rbacv1.RoleBinding]
	clusterBindings bindingCache[*rbacv1.ClusterRoleBinding]
	roles           roleCache[*rbacv1.Role]
	clusterRoles    roleCache[*rbacv1.ClusterRole]
}

// queryContext carries a query to the listers and getters, through whatever authorizers are
// between. It is one allocation with its query, for every write has one.
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

// queryFrom returns the query that a question is asked under, or nil.
func queryFrom(ctx context.Context) *Query {
	q, _ := ctx.Value(queryKey{}).(*Query)
	return q
}

// For returns the context for one question to an authorizer: what may the user of a request
// do to its resource. Under it nothing else may be asked, as there would seem to be no
// grants, and no request may go on. A caller of very many groups is not looked up: for
// that one all bindings are listed.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	if !isIndexable(about) {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{request: about}}
}

// ForSeveral is For for several questions, asked one right after the other. Bindings that
// one of them found, and some of their roles, are not looked up again. The questions may not
// be asked at the same time. The query is nil where For would return ctx.
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

// ForMore is ForSeveral for questions that are asked some time after those of an earlier
// query, which may be nil, about the same request; no more may be asked under the earlier
// one. What was found under it is not looked up again while it is still all there is. The
// first of several that go on from one query takes what was found. The request is the same
// if about is the same pointer.
func ForMore(ctx context.Context, about authorizer.Attributes, earlier *Query) (context.Context, *Query) {
	if earlier == nil || earlier.cache == nil || !earlier.isFor(about) || earlier.continued.Swap(true) {
		return ForSeveral(ctx, about)
	}
	earlier.cache.recheck()
	c := &queryContext{Context: ctx, query: Query{request: about, keys: earlier.keys, cache: earlier.cache}}
	return c, &c.query
}

// WithAllRules returns the context for a question in which rules about other resources matter too.
// Bindings are found by subject, and roles are what they are.
func WithAllRules(ctx context.Context) context.Context {
	q := queryFrom(ctx)
	if q == nil || q.allRules {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{request: q.request, keys: q.keys, allRules: true}}
}

// WithoutQuery returns the context for a question about another user than that of the request
// under way: all bindings are listed.
func WithoutQuery(ctx context.Context) context.Context {
	if queryFrom(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, queryKey{}, (*Query)(nil))
}

// recheck notes that there may have been changes since something was found.
func (f *requestCache) recheck() {
	f.bindings.recheck, f.clusterBindings.recheck = f.bindings.valid, f.clusterBindings.valid
	f.roles.recheck, f.clusterRoles.recheck = true, true
}

// The kept methods return what earlier questions found, nil if that is not kept.

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

// isFor reports whether it is the same request.
func (q *Query) isFor(other authorizer.Attributes) bool {
	mine, ok := q.request.(*authorizer.AttributesRecord)
	return ok && other == authorizer.Attributes(mine)
}

// isIndexable reports whether the bindings of a request's user are looked up by subject.
func isIndexable(about authorizer.Attributes) bool {
	caller := about.GetUser()
	return caller != nil && about.IsResourceRequest() && len(caller.GetGroups()) <= maxGroups && len(about.GetNamespace()) <= validation.DNS1123LabelMaxLength
}
