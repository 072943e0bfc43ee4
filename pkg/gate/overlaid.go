// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"sync"
	"sync/atomic"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/metrics"
)

// overlaid has what a kind needs to be compiled with entries, and the results.
type overlaid struct {
	version  gvk.GroupVersionKind
	source   func() map[string]*spec.Schema
	excludes []gvk.GroupVersionKind

	compiling sync.Mutex
	// inForce has the kind with the latest entries in their modes, and enforcing that with all exclusions
	// enforced.
	inForce, enforcing atomic.Pointer[kind]
}

// kindWith returns the kind of the object that a request writes, with the entries that are in force.
func kindWith(target granular.Target, added entrySet) *kind {
	base := kindOf(target)
	if added.entries == nil {
		return base
	}
	return base.with(added, base != noSchema && !isScale(target.Kind) && added.holdsIn(target.Schema, target.Kind))
}

// with returns the kind with entries. It is compiled when entries are used first, and kept until
// others are. holds is set if the paths of the entries are paths of this kind. If not, the result
// only knows which entries are in force.
func (k *kind) with(added entrySet, holds bool) *kind {
	kept := &k.inForce
	if added.all {
		kept = &k.enforcing
	}
	if known := kept.Load(); known != nil && known.added == added {
		return known
	}
	if k == noSchema { // it stands for many kinds, so it keeps nothing
		return k.compileWith(added, true)
	}
	k.compiling.Lock()
	defer k.compiling.Unlock()
	if known := kept.Load(); known != nil && known.added == added {
		return known
	}
	made := k.compileWith(added, holds)
	kept.Store(made)
	return made
}

// compileWith compiles the kind with entries. If that fails, names have no effect, and exclusions
// make the result refuse all writes.
func (k *kind) compileWith(added entrySet, holds bool) *kind {
	out := &kind{walker: k.walker, err: k.err, excluded: k.excluded, scratch: k.scratch, added: added, byEntry: added.excludes() && !k.excludes()}
	if !holds {
		return out
	}
	if k.walker != nil {
		tree, err := k.treeWith(added, added.entries.WithoutNamed())
		if named := added.named(); err == nil && named != nil {
			out.named, err = k.namedWith(added, named)
		}
		metrics.Compiled(err == nil)
		if err == nil {
			klog.V(4).InfoS("Compiled the permissions of a kind with entries", "kind", k.version, "fieldPermission", added.entries.Source)
			out.walker = change.NewWalker(tree)
			return out
		}
		klog.ErrorS(err, "The entries of a FieldPermission have no effect", "kind", k.version, "fieldPermission", added.entries.Source)
		out.err = fmt.Errorf("no permissions are known for %s with the entries of FieldPermission %s: %w", k.version, added.entries.Source, err)
	}
	if added.excludes() {
		out.walker, out.excluded = nil, true
	}
	return out
}

// treeWith compiles the permission tree of the kind with entries, which are those of added or some of
// them, and checks that the tree has the exclusions.
func (k *kind) treeWith(added entrySet, entries *overlay.Entries) (*schema.Tree, error) {
	source := func() map[string]*spec.Schema {
		models, _, err := overlay.Apply(k.source(), k.version, entries, added.all)
		if err != nil {
			return nil // it failed in the same way when the tree was compiled
		}
		return models
	}
	models, outcomes, err := overlay.Apply(k.source(), k.version, entries, added.all)
	if err != nil {
		return nil, err
	}
	tree, err := schema.NewModels(models, compileOptions(source, k.overlaid.excludes)...).ByKind(k.version)
	if err != nil {
		return nil, err
	}
	return tree, overlay.Verify(tree, entries, outcomes)
}
