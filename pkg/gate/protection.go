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

// Protection provides the protected attributes in force. It is implemented by package protected.
type Protection interface {
	// Set returns the protected attributes, and whether all stored ones are known. It allocates
	// nothing.
	Set() (set *protect.Set, synced bool)
	// Wait waits for a bounded time until they are known.
	Wait(ctx context.Context) error
	// Holds reports whether a user is bound to a role by a binding that applies.
	Holds(ctx context.Context, u user.Info, r protect.Reference) (bool, error)
}

// Option is an option of New.
type Option func(*Gate)

// WithProtection makes the Gate verify protected labels and annotations, for all callers. Nil
// means that there are none.
func WithProtection(p Protection) Option {
	return func(g *Gate) { g.protection = p }
}

// WithoutFields makes the Gate verify only protected attributes: no request is granular, and
// excluded permissions are not required.
func WithoutFields() Option {
	return func(g *Gate) { g.withoutFields = true }
}

// The permission to write protected attributes without being admitted. It is asked for all
// namespaces, and only for a write that is about to be refused or reported.
const (
	BypassVerb     = "bypass"
	BypassGroup    = "authority.kube-granular.dev"
	BypassVersion  = "v1alpha1"
	BypassResource = "protectedattributes"
)

var (
	// copiedAttributes is what controllers copy between objects of built-in kinds.
	copiedAttributes = protect.Builtin()
	// anyTarget is a target that may have any attribute.
	anyTarget = copiedAttributes.Target(protect.Resource{}, nil)
)

// protect returns what verifies the labels and annotations of one write, nil if none of them may
// be protected. It allocates nothing then, and compiles a tree only if the answer depends on it.
func (g *Gate) protect(ctx context.Context, target granular.Target, marked bool) (*protected, error) {
	if g.protection == nil {
		return nil, nil
	}
	set, synced := g.protection.Set()
	if synced && set == nil || target.Subresource == "scale" { // the attributes of a scale are not stored
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
	if synced { // and some apply
		p.judgeBy(set)
	}
	return p, nil
}
