// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// asking is a context whose questions are about one caller and one resource. Listers and
// getters look for the type and not for a value, which costs those that ask otherwise next
// to nothing; a context that is made from this one is a context like any other.
type asking struct {
	context.Context
	about authorizer.Attributes
	// keys are made when they are needed: not all questions get as far as RBAC.
	keys callerKeys

	// several says that what one question found is kept for the next.
	several         bool
	bindings        list[*rbacv1.RoleBinding]
	clusterBindings list[*rbacv1.ClusterRoleBinding]
	roles           []role
}

type list[T any] struct {
	known bool
	of    []T
}

// role is a cluster role, or a role of the namespace in question.
type role struct {
	name        string
	role        *rbacv1.Role
	clusterRole *rbacv1.ClusterRole
}

// For returns the context to ask an authorizer with about what the user of a request may
// do to its resource, by whatever verb, and about nothing else: there would seem to be no
// grants. It is for one question, no request may go on under it. A caller of very many
// groups is not looked for: for that all bindings are looked through.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	if a := newAsking(ctx, about); a != nil {
		return a
	}
	return ctx
}

// ForSeveral is For for several questions, asked one right after the other: bindings that
// one of them looked for, and some of their roles, are not looked for again. They may not
// be asked at the same time.
func ForSeveral(ctx context.Context, about authorizer.Attributes) context.Context {
	if a := newAsking(ctx, about); a != nil {
		a.several = true
		return a
	}
	return ctx
}

func newAsking(ctx context.Context, about authorizer.Attributes) *asking {
	caller := about.GetUser()
	if caller == nil || !about.IsResourceRequest() || len(caller.GetGroups()) > maxGroups || len(about.GetNamespace()) > validation.DNS1123LabelMaxLength {
		return nil
	}
	return &asking{Context: ctx, about: about}
}

// asked is what a question was asked under, nil where that was not For.
func asked(ctx context.Context) *asking {
	a, _ := ctx.(*asking)
	return a
}

// knownRoles is how many roles are kept; more are got again. To look for one among many
// takes longer than to get it.
const knownRoles = 8

// known gives what was found before of one kind and name, with nothing in it if there is
// none.
func (a *asking) known(cluster bool, name string) role {
	for _, r := range a.roles {
		if r.name == name && cluster == (r.clusterRole != nil) {
			return r
		}
	}
	return role{}
}

func (a *asking) keep(r role) {
	if !a.several || len(a.roles) == knownRoles {
		return
	}
	if a.roles == nil {
		a.roles = make([]role, 0, knownRoles)
	}
	a.roles = append(a.roles, r)
}
