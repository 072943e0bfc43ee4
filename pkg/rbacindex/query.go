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
	about authorizer.Attributes
	// keys are made when they are needed: not all questions get as far as RBAC.
	keys callerKeys

	// whole is true if roles without a rule about the resource are not left out.
	whole bool

	// found is what questions found so far, for the next; nil where there is no next.
	found *found
	// left is set once found went on to a later query.
	left atomic.Bool
}

// found is what the questions about one request found. One of them is asked at a time.
type found struct {
	bindings        list[*rbacv1.RoleBinding]
	clusterBindings list[*rbacv1.ClusterRoleBinding]
	roles           kept[*rbacv1.Role]
	clusterRoles    kept[*rbacv1.ClusterRole]
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
	if !lookedUp(about) {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{about: about}}
}

// ForSeveral is For for several questions, asked one right after the other. Bindings that
// one of them found, and some of their roles, are not looked up again. The questions may not
// be asked at the same time. The query is nil where For would return ctx.
func ForSeveral(ctx context.Context, about authorizer.Attributes) (context.Context, *Query) {
	if !lookedUp(about) {
		return ctx, nil
	}
	c := &struct {
		queryContext
		found found
	}{queryContext: queryContext{Context: ctx, query: Query{about: about}}}
	c.query.found = &c.found
	return &c.queryContext, &c.query
}

// ForMore is ForSeveral for questions that are asked some time after those of an earlier
// query, which may be nil, about the same request; no more may be asked under the earlier
// one. What was found under it is not looked up again while it is still all there is. The
// first of several that go on from one query takes what was found. The request is the same
// if about is the same pointer.
func ForMore(ctx context.Context, about authorizer.Attributes, earlier *Query) (context.Context, *Query) {
	if earlier == nil || earlier.found == nil || !earlier.isAbout(about) || earlier.left.Swap(true) {
		return ForSeveral(ctx, about)
	}
	earlier.found.later()
	c := &queryContext{Context: ctx, query: Query{about: about, keys: earlier.keys, found: earlier.found}}
	return c, &c.query
}

// Whole returns the context for a question in which rules about other resources matter too.
// Bindings are found by subject, and roles are what they are.
func Whole(ctx context.Context) context.Context {
	q := queryFrom(ctx)
	if q == nil || q.whole {
		return ctx
	}
	return &queryContext{Context: ctx, query: Query{about: q.about, keys: q.keys, whole: true}}
}

// Without returns the context for a question about another user than that of the request
// under way: all bindings are listed.
func Without(ctx context.Context) context.Context {
	if queryFrom(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, queryKey{}, (*Query)(nil))
}

// later notes that there may have been changes since something was found.
func (f *found) later() {
	f.bindings.earlier, f.clusterBindings.earlier = f.bindings.known, f.clusterBindings.known
	f.roles.earlier, f.clusterRoles.earlier = true, true
}

// The kept methods return what earlier questions found, nil if that is not kept.

func (q *Query) keptBindings() *list[*rbacv1.RoleBinding] {
	if q.found == nil {
		return nil
	}
	return &q.found.bindings
}

func (q *Query) keptClusterBindings() *list[*rbacv1.ClusterRoleBinding] {
	if q.found == nil {
		return nil
	}
	return &q.found.clusterBindings
}

func (q *Query) keptRoles() *kept[*rbacv1.Role] {
	if q.found == nil {
		return nil
	}
	return &q.found.roles
}

func (q *Query) keptClusterRoles() *kept[*rbacv1.ClusterRole] {
	if q.found == nil {
		return nil
	}
	return &q.found.clusterRoles
}

// isAbout reports whether it is the same request.
func (q *Query) isAbout(other authorizer.Attributes) bool {
	mine, ok := q.about.(*authorizer.AttributesRecord)
	return ok && other == authorizer.Attributes(mine)
}

// lookedUp reports whether the bindings of a request's user are looked up by subject.
func lookedUp(about authorizer.Attributes) bool {
	caller := about.GetUser()
	return caller != nil && about.IsResourceRequest() && len(caller.GetGroups()) <= maxGroups && len(about.GetNamespace()) <= validation.DNS1123LabelMaxLength
}
