// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/gate/convert"
	"kube-granular.dev/pkg/metrics"
)

// kind is a Kubernetes kind in one version, with what the Gate compiles from its schema.
type kind struct {
	// walker compares objects by the permission tree of the kind: the tree of the kind's fields,
	// with the permission that each field needs. It is nil if the tree can't be compiled.
	walker *change.Walker
	// err is the reason why there is no walker.
	err error
	// excluded is set if there is no walker, and the schema mentions an excluded permission: one
	// that `update` does not include. It is not known which fields need that permission, so all
	// writes of the kind are refused.
	excluded bool
	// scratch lends memory into which objects are converted to the version of the request. It is
	// nil for custom resources, which need no conversion.
	scratch *convert.Pool
	// target is what protectsAs returns, nil before its first call.
	target atomic.Pointer[protect.Target]
	// added has the entries with which the kind was compiled, or which are in force for a request
	// although they do not hold for this kind.
	added entrySet
	// byEntry is set if entries exclude fields, and the definition excludes none.
	byEntry bool
	// named has the exclusions of fields that are found by name. It is nil if there are none.
	named *named
	overlaid
}

var (
	errNoSchema         = errors.New("the schema of the kind is not known")
	noSchema            = &kind{err: errNoSchema}
	errAnnotationBacked = errors.New("an annotation or label holds the value of a field, and the kind has excluded permissions")
	errHidden           = errors.New("its definition has an excluded permission that its permission tree lacks")

	// storedExpressions is the language of the parameter expressions (CEL) in definitions that are
	// stored already.
	storedExpressions = expression.Stored()

	// interner lets the permission trees of all kinds share equal nodes, to save memory. It keeps
	// no tree alive: a tree is freed with the endpoints of the definition it was compiled from.
	interner = schema.NewInterner()
)

// kindOf returns the kind of the object that a request writes. The permission tree of the kind is
// compiled at first use, and lives as long as the schema that the endpoint serves.
func kindOf(target granular.Target) *kind {
	if target.Schema == nil {
		return noSchema
	}
	return target.Schema.Compiled(target.Kind, func(version gvk.GroupVersionKind, models func() map[string]*spec.Schema) any {
		return compileKind(version, models, target.Schema.Excludes)
	}).(*kind)
}

// knownKind is the kind of one target. It is found at first use, because most writes need no
// permission tree, and then kept.
type knownKind struct {
	kind  *kind
	added entrySet
}

// find returns the kind of target, which must be the same in all calls.
func (k *knownKind) find(target granular.Target) *kind {
	if k.kind == nil {
		k.kind = kindWith(target, k.added)
	}
	return k.kind
}

// compileKind compiles the permission tree of the kind version, from the schemas that source returns.
// excludes lists the versions of a custom resource that have an excluded permission; it is nil for
// a built-in kind. If the tree can't be compiled, or lacks an excluded permission that the
// definition has, the result has an error in place of the tree. Writes that need the tree are then
// refused.
func compileKind(version gvk.GroupVersionKind, source func() map[string]*spec.Schema, excludes []gvk.GroupVersionKind) *kind {
	models := source()
	tree, err := schema.NewModels(models, compileOptions(source, excludes)...).ByKind(version)
	if err == nil && slices.Contains(excludes, version) && !tree.HasExcluded() {
		err = errHidden
	}
	metrics.Compiled(err == nil)
	out := &kind{overlaid: overlaid{version: version, source: source, excludes: excludes}}
	if err != nil {
		// Callers that hold the ordinary verb can still write the kind, unless it has excluded
		// permissions.
		klog.ErrorS(err, "No single fields of the kind can be authorized", "kind", version)
		out.err = fmt.Errorf("no permissions are known for %s: %w", version, err)
		out.excluded = len(excludes) > 0 || mentionsExcluded(models)
		return out
	}
	klog.V(4).InfoS("Compiled the permissions of a kind", "kind", version)
	out.walker = change.NewWalker(tree)
	if excludes == nil {
		out.scratch = &convert.Pool{}
	}
	return out
}

// compileOptions returns the options for a kind. A custom resource has excludes that are not nil. Its
// schemas are not kept. When a message needs them, they are generated again from the definition that
// the endpoint serves.
func compileOptions(source func() map[string]*spec.Schema, excludes []gvk.GroupVersionKind) []schema.Option {
	options := []schema.Option{schema.WithExpressions(storedExpressions), schema.WithInterner(interner)}
	if excludes != nil {
		options = append(options, schema.WithSource(source))
	}
	return options
}
