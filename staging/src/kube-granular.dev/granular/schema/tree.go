// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Bounds of a tree. Past them the schema is refused: a kind without a tree can
// be changed by no granular request.
const (
	// MaxPermissionsOnPath is the longest chain.
	MaxPermissionsOnPath = 8
	// MaxNodes is the most nodes a tree may have.
	MaxNodes = 10000
)

// Tree is the permission tree of one kind in one version.
type Tree struct {
	// Name is the definition the tree was compiled from, for messages.
	Name string
	// Root is never nil; it may have neither fields nor permissions.
	Root *Node
	// Nodes holds every node at its ID.
	Nodes []*Node
}

// HasExcluded says whether a caller who holds the ordinary verb is looked at too.
func (t *Tree) HasExcluded() bool { return t.Root.ExcludedAt || t.Root.ExcludedBelow }

// ByKind compiles the tree of the definition that says, in
// x-kubernetes-group-version-kind, that it is the kind.
func ByKind(models map[string]*spec.Schema, kind gvkschema.GroupVersionKind) (*Tree, error) {
	root, err := definitionOf(models, kind)
	if err != nil {
		return nil, err
	}
	return Compile(models, root)
}
