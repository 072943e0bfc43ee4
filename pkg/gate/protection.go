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
// admitted callers are allowed to change. Package protected implements Protection.
type Protection interface {
	// Set returns the set of protected attributes, which is nil if there are none. synced reports
	// whether the server has read all that are stored. Set allocates nothing.
	Set() (set *protect.Set, synced bool)
	// Wait waits until the server has read all stored protected attributes. It returns an error if
	// that takes too long or ctx ends.
	Wait(ctx context.Context) error
	// Holds reports whether a user is bound to the role r. A ClusterRoleBinding counts for every
	// role. For a role of a namespace, a RoleBinding in that namespace counts too.
	Holds(ctx context.Context, u user.Info, r protect.Reference) (bool, error)
}

// Option is an option of New.
type Option func(*Gate)

// WithProtection makes the Gate verify changes of protected labels and annotations, by all
// callers. If p is nil, no labels and annotations are protected.
func WithProtection(p Protection) Option {
	return func(g *Gate) { g.protection = p }
}

// WithDelegates tells the Gate which callers act under a delegation that a policy issued to them.
// For such a caller, self returns the caller without the delegation, and nil for any other caller.
// The Gate asks whether self is allowed to bypass the protection of labels and annotations: by the
// delegation alone, a controller could not copy the templates of others.
func WithDelegates(self func(ctx context.Context, u user.Info) user.Info) Option {
	return func(g *Gate) { g.byPolicy = self }
}

// WithoutFields makes the Gate verify only changes of protected attributes. The Gate then lets no
// caller write with the verb "granular", and requires no excluded permissions.
func WithoutFields() Option {
	return func(g *Gate) { g.withoutFields = true }
}

// A caller that is allowed this verb on this resource, in all namespaces, is allowed to write
// protected attributes without being admitted. The Gate checks the verb only for a write that it
// would otherwise refuse or report.
const (
	BypassVerb     = "bypass"
	BypassGroup    = "authority.kube-granular.dev"
	BypassVersion  = "v1alpha1"
	BypassResource = "protectedattributes"
	// FieldBypassResource stands in place of BypassResource for the entries of FieldPermissions. The
	// name of the FieldPermission is the name of the request.
	FieldBypassResource = "fieldpermissions"
)

var (
	// copiedAttributes is a table of the labels and annotations that controllers copy from objects
	// of built-in kinds to other objects.
	copiedAttributes = protect.Builtin()
	// anyTarget stands for a resource about which nothing is known, so that its labels and
	// annotations can end up on objects of any resource.
	anyTarget = copiedAttributes.Target(protect.Resource{}, nil)
)

// protect returns the verification of protected labels and annotations for one write. It returns
// nil if no label or annotation of the object can be protected, and then allocates nothing. It
// also returns nil for members of the privileged group, who are allowed everything. It compiles
// the permission tree of the kind only if the result depends on the tree.
func (g *Gate) protect(ctx context.Context, target granular.Target, found *knownKind, marked bool) (*protected, error) {
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
	kind := found.find(target)
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
	}
	if synced { // and some of the set may apply
		p.judgeBy(set)
	}
	return p, nil
}
