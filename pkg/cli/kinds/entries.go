// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"cmp"
	"errors"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

// ErrNoEntries means that the caller may not read FieldPermissions.
var ErrNoEntries = errors.New("the permissions that FieldPermissions add are not known")

// EntriesReader returns the entries of all FieldPermissions of a server, by resource. The server adds
// them to the schemas of the resources, and does not publish them there. With ErrNoEntries, the kinds get only the
// entries that are returned, and Cluster.ReadEntries returns the error.
type EntriesReader func() (map[kubeschema.GroupResource]*overlay.Entries, error)

// entriesFor returns the entries that hold for a resource, nil if there are none. The first call reads those
// of all resources.
func (c *Cluster) entriesFor(resource kubeschema.GroupResource) (*overlay.Entries, error) {
	if c.readEntries == nil {
		return nil, nil
	}
	if c.entries == nil {
		entries, err := c.readEntries()
		if err != nil && !errors.Is(err, ErrNoEntries) {
			return nil, err
		}
		c.unread = err
		if c.entries = entries; entries == nil {
			c.entries = map[kubeschema.GroupResource]*overlay.Entries{}
		}
	}
	return overlay.InForce(resource, c.entries[resource], c.entries[overlay.Pods]), nil
}

// ReadEntries returns an error if the kinds lack entries, because the caller may not read them. Without entries, a field looks
// like a part of update although it may be excluded.
func (c *Cluster) ReadEntries() error {
	_, err := c.entriesFor(overlay.Pods)
	return cmp.Or(err, c.unread)
}

// forgetEntries makes the next look read the entries anew.
func (c *Cluster) forgetEntries() {
	c.entries = nil
	clear(c.overlaid)
}

// addEntries adds the entries for the resource to the tree and the definitions of its kind, as the server
// does. In mode Audit exclusions are names.
func (c *Cluster) addEntries(k *Kind) error {
	entries, err := c.entriesFor(k.Resource.GroupResource())
	if err != nil || entries == nil {
		return err
	}
	known := c.overlaid[k.Resource]
	if known == nil {
		known = &overlaidTree{}
		known.tree, known.definitions, _, known.err = Overlay(k, entries, false)
		c.overlaid[k.Resource] = known
	}
	if known.err != nil {
		return known.err
	}
	k.Tree, k.definitions = known.tree, known.definitions
	return nil
}

// overlaidTree is the tree of a kind with entries.
type overlaidTree struct {
	tree        *schema.Tree
	definitions map[string]*spec.Schema
	err         error
}

// Overlay returns the permission tree and the definitions of a kind with entries, and the outcome of each
// entry. Exclusions in mode Audit are names, unless all is set.
func Overlay(k *Kind, entries *overlay.Entries, all bool) (*schema.Tree, map[string]*spec.Schema, []overlay.Outcome, error) {
	definitions, outcomes, err := overlay.Apply(k.definitions, k.Kind, entries, all)
	if err != nil {
		return nil, nil, nil, err
	}
	tree, err := schema.NewModels(definitions, schema.WithExpressions(ServerComputed{})).ByKind(k.Kind)
	return tree, definitions, outcomes, err
}
