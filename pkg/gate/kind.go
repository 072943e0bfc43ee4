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

// kind is a Kubernetes kind as one schema describes it.
type kind struct {
	walker *change.Walker
	// err is the reason why there is no walker.
	err error
	// excluded is set if there is no walker and some permission of the schema is excluded. It is
	// not known which fields that concerns.
	excluded bool
	// scratch has memory for converted objects, nil if objects need no conversion.
	scratch *convert.Pool
	// target is the target in package protect, nil until needed.
	target atomic.Pointer[protect.Target]
}

var (
	errNoSchema         = errors.New("the schema of the kind is not known")
	noSchema            = &kind{err: errNoSchema}
	errAnnotationBacked = errors.New("an annotation holds the value of a field, and fields of the kind are excluded")
	errHidden           = errors.New("an excluded permission of its definition has no effect")

	// storedExpressions is the language of expressions in stored definitions.
	storedExpressions = expression.Stored()

	// interner lets the trees of all kinds share equal nodes. It keeps nothing alive, so a
	// definition is freed with the endpoints that were built from it.
	interner = schema.NewInterner()
)

// kindOf returns the kind of a target. Its tree is compiled at first use and lives as long as
// the schema that the endpoint serves.
func kindOf(target granular.Target) *kind {
	if target.Schema == nil {
		return noSchema
	}
	return target.Schema.Compiled(target.Kind, func(of gvk.GroupVersionKind, models func() map[string]*spec.Schema) any {
		return compileKind(of, models, target.Schema.Excludes)
	}).(*kind)
}

// compileKind fails closed if there is no tree, and if the tree excludes nothing although the
// definition of the kind does.
func compileKind(of gvk.GroupVersionKind, source func() map[string]*spec.Schema, excludes []gvk.GroupVersionKind) *kind {
	options := []schema.Option{schema.WithExpressions(storedExpressions), schema.WithInterner(interner)}
	if excludes != nil {
		// A custom resource. Its models are generated from the definition that the endpoint
		// serves, and are not kept.
		options = append(options, schema.WithSource(source))
	}
	models := source()
	tree, err := schema.NewModels(models, options...).ByKind(of)
	if err == nil && slices.Contains(excludes, of) && !tree.HasExcluded() {
		err = errHidden
	}
	metrics.Compiled(err == nil)
	if err != nil {
		// Callers who may write all fields still can, unless some fields are excluded.
		klog.ErrorS(err, "No single fields of the kind can be authorized", "kind", of)
		return &kind{
			err:      fmt.Errorf("no permissions are known for %s: %w", of, err),
			excluded: len(excludes) > 0 || mentionsExcluded(models),
		}
	}
	klog.V(4).InfoS("Compiled the permissions of a kind", "kind", of)
	k := &kind{walker: change.NewWalker(tree)}
	if excludes == nil {
		k.scratch = &convert.Pool{}
	}
	return k
}
