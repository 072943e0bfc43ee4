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

// Protection provides the protected attributes in force: the labels and annotations that only
// admitted callers may change. It is implemented by package protected.
type Protection interface {
	// Set returns the protected attributes, and whether all stored ones are known. It allocates
	// nothing.
	Set() (set *protect.Set, synced bool)
	// Wait waits for a bounded time until all stored protected attributes are known.
	Wait(ctx context.Context) error
	// Holds reports whether a user is bound to the role r by a binding that counts for r: a
	// ClusterRoleBinding, or for the role of a namespace also a RoleBinding in that namespace.
	Holds(ctx context.Context, u user.Info, r protect.Reference) (bool, error)
}

// Option is an option of New.
type Option func(*Gate)

// WithProtection makes the Gate verify protected labels and annotations, for all callers. If p is
// nil, none are protected.
func WithProtection(p Protection) Option {
	return func(g *Gate) { g.protection = p }
}

// WithoutFields makes the Gate verify only protected attributes: the Gate marks no request as
// granular, and requires no excluded permissions.
func WithoutFields() Option {
	return func(g *Gate) { g.withoutFields = true }
}

// A caller that may use this verb on this resource, in all namespaces, may write protected
// attributes without being admitted. The authorizer is asked about that only for a write that is
// about to be refused or reported.
const (
	BypassVerb     = "bypass"
	BypassGroup    = "authority.kube-granular.dev"
	BypassVersion  = "v1alpha1"
	BypassResource = "protectedattributes"
)

var (
	// copiedAttributes lists which labels and annotations controllers copy from objects of
	// built-in kinds to other objects.
	copiedAttributes = protect.Builtin()
	// anyTarget stands for a resource whose objects may have any label and annotation.
	anyTarget = copiedAttributes.Target(protect.Resource{}, nil)
)

// protect returns the verification of protected labels and annotations for one write. It returns
// nil if no label or annotation of the object can be protected, and then allocates nothing. It
// compiles a permission tree only if the result depends on it.
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
	if synced { // and some of the set may apply
		p.judgeBy(set)
	}
	return p, nil
}
