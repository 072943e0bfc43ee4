// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/permission"

	"kube-granular.dev/pkg/cli/roles"
)

// Write describes the updates and patches of a subject for a resource in a namespace.
type Write struct {
	Key ResourceKey
	// Version is the API version of the last write.
	Version string
	// Verbs are the minimal permission verbs that allow the changes, without the verb granular.
	Verbs []string
	// Asked are the ordinary verbs of the requests: update, patch or both.
	Asked []string
	// Known is false if the log does not show the changed fields of some requests, or if no
	// permission covers some changes.
	Known bool
}

// Resource returns the resource and the subresource that were written.
func (w *Write) Resource() (resource schema.GroupVersionResource, subresource string) {
	name, subresource := w.Key.split()
	return schema.GroupVersionResource{Group: w.Key.Group, Version: w.Version, Resource: name}, subresource
}

// Writes returns the updates and patches of the subject, sorted by resource. It leaves out
// resources for which the log shows no changed fields.
func (s *Subject) Writes(ctx context.Context) ([]Write, error) {
	var out []Write
	for _, p := range slices.SortedFunc(maps.Keys(s.usages), ResourceKey.compare) {
		u := s.usages[p]
		all := newNeeds()
		all.merge(ctx, u.unnamed)
		for _, n := range u.names {
			all.merge(ctx, n)
		}
		w := Write{Key: p, Version: u.version, Known: len(all.unknown) == 0}
		for _, verb := range []string{"update", "patch"} {
			if all.asked[verb] {
				w.Asked = append(w.Asked, verb)
			}
		}
		if len(w.Asked) == 0 || !all.fields {
			continue
		}
		verbs, _, err := all.least(ctx, p.describe(""), roles.Narrow)
		if err != nil {
			return nil, err
		}
		for _, v := range verbs {
			if parsed, err := permission.Parse(v); err == nil && parsed.Permission != "" {
				w.Verbs = append(w.Verbs, v)
			} else if v == "update" || v == "patch" {
				w.Known = false // no permission covers all changes
			}
		}
		out = append(out, w)
	}
	return out, nil
}
