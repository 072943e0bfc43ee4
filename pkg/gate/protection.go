// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/granular/protect"
)

// Protection is the port to the protected attributes that are in force.
type Protection interface {
	// Set returns them, and whether all that are stored are known yet. It allocates nothing.
	Set() (set *protect.Set, synced bool)
	// Wait waits until they are, for a bounded time.
	Wait(ctx context.Context) error
	// Holds reports whether a user is bound to a role by a binding that counts.
	Holds(ctx context.Context, u user.Info, r protect.Reference) (bool, error)
}

// Option is an option of New.
type Option func(*Gate)

// WithProtection makes the Gate judge protected labels and annotations too, for all callers.
// Without one, or with nil, there are none.
func WithProtection(p Protection) Option {
	return func(g *Gate) { g.protection = p }
}

// WithoutFields makes the Gate judge nothing but what is protected: no request is granular,
// and excluded permissions are asked of nobody.
func WithoutFields() Option {
	return func(g *Gate) { g.withoutFields = true }
}

// The right to write protected attributes whatever admits to them. It is asked for all
// namespaces, and only for a write that is about to be refused or reported.
const (
	BypassVerb     = "bypass"
	BypassGroup    = "authority.kube-granular.dev"
	BypassVersion  = "v1alpha1"
	BypassResource = "protectedattributes"
)

var (
	// copied says what comes out of built-in kinds.
	copiedAttributes = protect.Builtin()
	// anything is a target in which every attribute may be.
	anyTarget = copiedAttributes.Target(protect.Resource{}, nil)
)

// protect returns what judges the labels and annotations of one write, nil if none of them
// may be protected. Then nothing was allocated, and no tree was compiled unless it depends
// on the tree.
func (g *Gate) protect(ctx context.Context, target granular.Target, marked bool) (*protected, error) {
	if g.protection == nil {
		return nil, nil
	}
	set, synced := g.protection.Set()
	if synced && set == nil || target.Subresource == "scale" { // which has no attributes that anybody stores
		return nil, nil
	}
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if ok && synced && set.Active(info.Namespace, anyTarget) == 0 {
		return nil, nil
	}
	kind := kindOf(target)
	resource := kind.protectsAs(target.Resource)
	if ok && synced && set.Active(info.Namespace, resource) == 0 {
		return nil, nil
	}
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return nil, err
	}
	if u := attributes.GetUser(); u != nil && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return nil, nil
	}
	p := &protected{
		requestInfo: requestInfo{target: target, attributes: attributes, marked: marked},
		gate:        g,
		kind:        kind,
		resource:    resource,
		everything:  true,
	}
	if synced { // and some are in force
		p.judgeBy(set)
	}
	return p, nil
}
