// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/rbacindex"
)

// knownFirst splits changed in two. known has the changes whose keys are in the request, unknown
// has all others. A caller that may not get the object must not learn the keys of unknown
// changes, so these are to be verified last. write.knownFirst does the same for other fields.
//
// If a granular caller may get the object, all changes are known. For other callers that is asked
// later, and only if an error or a warning would name an unknown change. With the ordinary verb
// "patch" all changes are known, because the response to a patch contains the whole object. The
// response to an update does not contain what the update removed.
func (p *protected) knownFirst(ctx context.Context, fields *write, changed change.Attributes) (known, unknown change.Attributes) {
	granular := fields != nil && fields.marked
	if !granular && p.attributes.GetVerb() == "patch" {
		return changed, nil
	}
	keys := requestKeys{observed: p.observed}
	if granular {
		keys.write = fields
	}
	first := slices.IndexFunc(changed, func(a change.Attribute) bool { return !keys.has(&a) })
	if first < 0 || granular && fields.mayGet(ctx) {
		return changed, nil
	}
	return split(changed, first, keys.has)
}

// requestKeys are the keys that one request contains.
type requestKeys struct {
	// write is set if the request is granular. It may have the patch of the request.
	write *write
	// observed is the caller's change. If there is no patch, the request contains the keys of its
	// new values.
	observed change.Attributes
	// sent has the locations of these keys. It is nil until it is needed.
	sent map[sentKey]bool
}

type sentKey struct {
	kind  schema.Attribute
	place string
}

// has reports whether the request contains the key of a label or annotation, and all keys of list
// and map elements on the path to it. In an apply, the new object must have the key as well: the
// configuration can have it in another place.
func (r *requestKeys) has(a *change.Attribute) bool {
	if r.write == nil || r.write.patch == nil {
		return r.sends(a)
	}
	if r.write.patch.Applied() && !r.sends(a) {
		return false
	}
	for _, s := range a.Path {
		if slices.ContainsFunc(s.Keys, func(key string) bool { return !r.write.patch.Has(key) }) {
			return false
		}
	}
	return a.Unreadable || r.write.patch.Has(a.Key)
}

// sends reports whether the new object has the label or annotation, with a new value.
func (r *requestKeys) sends(a *change.Attribute) bool {
	if r.sent == nil {
		r.sent = map[sentKey]bool{}
		for i := range r.observed {
			if o := &r.observed[i]; o.New.Present || o.Unreadable {
				r.sent[sentKey{o.Kind, o.String()}] = true
			}
		}
	}
	return r.sent[sentKey{a.Kind, a.String()}]
}

// mayGet reports whether the caller is allowed to get the object of the request, so that a message
// may contain keys that are not in the request. It asks the authorizer only once for a request. If
// the authorizer fails, the keys stay hidden.
func (p *protected) mayGet(ctx context.Context, fields *write) bool {
	if fields != nil && fields.marked {
		return fields.mayGet(ctx)
	}
	if p.readable == nil {
		whole := wholeObject{p.attributes}
		readable, _ := allows(rbacindex.For(ctx, whole), p.gate.Authorizer, whole, "get")
		p.readable = &readable
	}
	return *p.readable
}

// wholeObject leaves out the subresource of a request: a caller that writes the status of an
// object is allowed to see its labels if it may get the object.
type wholeObject struct{ upstream.Attributes }

func (wholeObject) GetSubresource() string { return "" }
