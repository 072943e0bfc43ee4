// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/granular"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/granular/overlay"
)

// FieldPermissions provides the entries in force: permissions that an administrator added to the
// fields of a resource. Package fieldpermission implements FieldPermissions.
type FieldPermissions interface {
	// Entries returns the entries that hold for a resource, nil if there are none.
	// In a resource with a pod template, entries of pods hold too; see overlay.InForce. The kind of the resource is
	// compiled anew for each other pointer. synced reports whether the server has read all that are
	// stored. Entries allocates nothing.
	Entries(group, resource string) (entries *overlay.Entries, synced bool)
	// Wait waits until the server has read all stored entries. It returns an error if that takes too
	// long or ctx ends.
	Wait(ctx context.Context) error
	// Counted records that a request of a user is allowed only because the mode of the entries is
	// Audit. path is the path of an entry, or of a field around it. Counted must not block.
	Counted(entries *overlay.Entries, path, user string)
}

// WithFieldPermissions makes the Gate add entries to the permissions of resources. If f is nil, there
// are no entries.
func WithFieldPermissions(f FieldPermissions) Option {
	return func(g *Gate) { g.fields = f }
}

// entrySet has the entries by which one request is verified. They stay the same until the end of the
// request.
type entrySet struct {
	// entries is nil if there are none.
	entries *overlay.Entries
	// all is set if exclusions in mode Audit refuse too.
	all bool
}

// excludes reports whether the entries can refuse what the ordinary verb allows.
func (f entrySet) excludes() bool {
	if f.all {
		return f.entries.Excludes()
	}
	return f.entries.Enforces()
}

// audits reports whether the entries have exclusions that are only counted.
func (f entrySet) audits() bool { return !f.all && f.entries.Audits() }

// refuses reports whether an exclusion refuses.
func (f entrySet) refuses(e *overlay.Field) bool {
	return e.Excluded && (f.all || f.entries.OriginOf(e).Enforced)
}

// origins returns the entries whose exclusions refuse, by FieldPermission.
func (f entrySet) origins() (out []*overlay.Entries) {
	for i := range f.entries.Fields {
		if e := &f.entries.Fields[i]; f.refuses(e) && !slices.Contains(out, f.entries.OriginOf(e)) {
			out = append(out, f.entries.OriginOf(e))
		}
	}
	return out
}

// origin returns the entries of the FieldPermission that refuses something. embedded tells whether it is
// that of the embedded kind, and another one is that of the resource.
func (f entrySet) origin(embedded bool) *overlay.Entries {
	if embedded {
		for i := range f.entries.Fields {
			if o := f.entries.Fields[i].Origin; o != nil {
				return o
			}
		}
	}
	return f.entries
}

// errNoEntries is the message for a write while the server does not know the entries yet.
const errNoEntries = "it is not known yet which fields FieldPermissions exclude, so nothing can be written"

// entriesFor returns the entries by which a request is verified. For members of the privileged group,
// who are allowed everything, there are none. If the server has not read the entries in time, the
// error is a 503.
func (g *Gate) entriesFor(ctx context.Context, target granular.Target) (entrySet, error) {
	if g.fields == nil || g.withoutFields {
		return entrySet{}, nil
	}
	if u, ok := genericapirequest.UserFrom(ctx); ok && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return entrySet{}, nil
	}
	group, resource := target.Resource.Group, target.Resource.Resource
	entries, synced := g.fields.Entries(group, resource)
	if !synced && overlay.TakesExclusions(group, resource) {
		if err := g.fields.Wait(ctx); err != nil && ctx.Err() != nil {
			return entrySet{}, ended()
		}
		if entries, synced = g.fields.Entries(group, resource); !synced {
			unavailable := apierrors.NewServiceUnavailable(errNoEntries)
			unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
			return entrySet{}, unavailable
		}
	}
	if entries == nil {
		return entrySet{}, nil
	}
	return entrySet{entries: entries}, nil
}

// holdsIn reports whether the paths of the entries are paths of the kind in a version. Without a
// conversion webhook, the versions of a custom resource have the same fields.
func (f entrySet) holdsIn(schema *granular.Schema, kind gvk.GroupVersionKind) bool {
	if kind.Version == f.entries.Version {
		return true
	}
	return schema.Excludes != nil && len(schema.Converted) == 0 && (schema.Stored == nil || !schema.Stored.Webhook)
}

// convertedTo returns the kinds in which a write of the kind written is verified too: those of the
// definition and, if the entries hold in another version, the kind in that version.
func (f entrySet) convertedTo(target granular.Target, written gvk.GroupVersionKind) []gvk.GroupVersionKind {
	known := target.Schema.Converted
	if !f.excludes() || isScale(written) || f.holdsIn(target.Schema, written) {
		return known
	}
	written.Version = f.entries.Version
	if slices.Contains(known, written) {
		return known
	}
	return append(slices.Clip(known), written)
}

// isScale reports whether a kind is that of scales, which is not the kind of any resource.
func isScale(kind gvk.GroupVersionKind) bool {
	return kind.Group == "autoscaling" && kind.Kind == "Scale"
}
