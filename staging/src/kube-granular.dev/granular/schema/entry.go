// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/permission"
)

// Entry is a permission that an administrator adds to a field of a schema. Package overlay adds
// entries to definitions.
type Entry struct {
	// Permission is the name of the permission, without the scope around the field.
	Permission string
	// Excluded is set if the permission is not part of update.
	Excluded bool
	// Embedded is set if the entry was written for the kind that is embedded around the field, such as
	// that of pods in a pod template, and other entries for the kind itself.
	Embedded bool
}

// extEntries is the extension of the entries of a field. Its value has a Go type, so that no text
// which the author of a definition writes is an entry.
const extEntries = extPrefix + "entries"

// SetEntries adds entries to a schema. They are the last permissions of the field, after those that
// the definition declares.
func SetEntries(s *spec.Schema, entries []Entry) {
	s.AddExtension(extEntries, slices.Clone(entries))
}

// addEntries adds the entries of a field to the node's chain. scope is the scope around the field. The
// name of an entry may also stand in the schema: the author can add it later. Then both are in force,
// each with its own exclusion.
func (c *compiler) addEntries(n *Node, entries []Entry, scope string) error {
	for _, e := range entries {
		name := permission.Scoped(scope, e.Permission)
		if err := permission.Validate(name); err != nil {
			return faultf(extEntries, "with the prefix of its scope: %v", err)
		}
		if err := c.append(n, extEntries, Permission{Name: name, Excluded: e.Excluded, Entry: true, Embedded: e.Embedded}); err != nil {
			return err
		}
	}
	return nil
}
