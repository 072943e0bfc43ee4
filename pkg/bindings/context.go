// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"sync/atomic"

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

	// found is what questions found so far, for the next; nil where there is no next.
	found *found
	// left says that found went on to a later context.
	left atomic.Bool
}

// found is what the questions about one request found. One of them is asked at a time.
type found struct {
	bindings        list[*rbacv1.RoleBinding]
	clusterBindings list[*rbacv1.ClusterRoleBinding]
	roles           kept[*rbacv1.Role]
	clusterRoles    kept[*rbacv1.ClusterRole]
}

// For returns the context to ask an authorizer with about what the user of a request may
// do to its resource, by whatever verb, and about nothing else: there would seem to be no
// grants. It is for one question, no request may go on under it. A caller of very many
// groups is not looked for: for that all bindings are looked through.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	if !lookedFor(about) {
		return ctx
	}
	return &asking{Context: ctx, about: about}
}

// ForSeveral is For for several questions, asked one right after the other: bindings that
// one of them looked for, and some of their roles, are not looked for again. They may not
// be asked at the same time.
func ForSeveral(ctx context.Context, about authorizer.Attributes) context.Context {
	if !lookedFor(about) {
		return ctx
	}
	a := &struct {
		asking
		found found
	}{asking: asking{Context: ctx, about: about}}
	a.asking.found = &a.found
	return &a.asking
}

// ForMore is ForSeveral for questions that are asked some time after those of an earlier
// context of ForSeveral or ForMore, about the same request; no more may be asked under the
// earlier one. What was found under it is not looked for again where it is still all there
// is; it goes to the first who asks for more, of several. The request is the same if about
// is, a pointer.
func ForMore(ctx context.Context, about authorizer.Attributes, earlier context.Context) context.Context {
	e := asked(earlier)
	if e == nil || e.found == nil || !e.isAbout(about) || e.left.Swap(true) {
		return ForSeveral(ctx, about)
	}
	e.found.later()
	return &asking{Context: ctx, about: about, keys: e.keys, found: e.found}
}

// later says that there may have been changes since something was found.
func (f *found) later() {
	f.bindings.earlier, f.clusterBindings.earlier = f.bindings.known, f.clusterBindings.known
	f.roles.earlier, f.clusterRoles.earlier = true, true
}

func (a *asking) keptBindings() *list[*rbacv1.RoleBinding] {
	if a.found == nil {
		return nil
	}
	return &a.found.bindings
}

func (a *asking) keptClusterBindings() *list[*rbacv1.ClusterRoleBinding] {
	if a.found == nil {
		return nil
	}
	return &a.found.clusterBindings
}

func (a *asking) keptRoles() *kept[*rbacv1.Role] {
	if a.found == nil {
		return nil
	}
	return &a.found.roles
}

func (a *asking) keptClusterRoles() *kept[*rbacv1.ClusterRole] {
	if a.found == nil {
		return nil
	}
	return &a.found.clusterRoles
}

// isAbout says that it is the same request.
func (a *asking) isAbout(other authorizer.Attributes) bool {
	mine, ok := a.about.(*authorizer.AttributesRecord)
	return ok && other == authorizer.Attributes(mine)
}

// lookedFor says whether the bindings of a request's user are looked for by subject.
func lookedFor(about authorizer.Attributes) bool {
	caller := about.GetUser()
	return caller != nil && about.IsResourceRequest() && len(caller.GetGroups()) <= maxGroups && len(about.GetNamespace()) <= validation.DNS1123LabelMaxLength
}

// asked is what a question was asked under, nil where that was not For.
func asked(ctx context.Context) *asking {
	a, _ := ctx.(*asking)
	return a
}
