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

// kind is what one schema says about one kind.
type kind struct {
	walker *change.Walker
	// err says why there is no walker.
	err error
	// excluded says that there is no walker and that some permission of the
	// schema is excluded. It is not known which fields that concerns.
	excluded bool
	// scratch is for what is compared, nil if that need not be converted.
	scratch *convert.Pool
	// target is what the kind is to package protect, once that was needed.
	target atomic.Pointer[protect.Target]
}

var (
	errNoSchema         = errors.New("the schema of the kind is not known")
	noSchema            = &kind{err: errNoSchema}
	errAnnotationBacked = errors.New("an annotation stands in for a field, and fields of the kind are excluded")
	errHidden           = errors.New("an excluded permission of its definition has no effect")

	// language is that of the expressions in definitions that are stored.
	storedExpressions = expression.Stored()

	// shared lets the trees of all kinds, built in or not, have one copy of what is the
	// same in them. It knows of no models, and of trees only as long as a kind has them,
	// so nothing of a definition outlives the endpoints that were built from it.
	interner = schema.NewInterner()
)

// kindOf returns the permission tree of a target. It is compiled when first
// needed and lives as long as the schema that the endpoint serves.
func kindOf(target granular.Target) *kind {
	if target.Schema == nil {
		return noSchema
	}
	return target.Schema.Compiled(target.Kind, func(of gvk.GroupVersionKind, models func() map[string]*spec.Schema) any {
		return compileKind(of, models, target.Schema.Excludes)
	}).(*kind)
}

// compileKind fails closed where no tree is to be had, and where the tree excludes
// nothing although the definition of the kind does.
func compileKind(of gvk.GroupVersionKind, source func() map[string]*spec.Schema, excludes []gvk.GroupVersionKind) *kind {
	options := []schema.Option{schema.WithExpressions(storedExpressions), schema.WithInterner(interner)}
	if excludes != nil {
		// A custom resource: its models are made from the definition the endpoint serves,
		// and nobody keeps them.
		options = append(options, schema.WithSource(source))
	}
	models := source()
	tree, err := schema.NewModels(models, options...).ByKind(of)
	if err == nil && slices.Contains(excludes, of) && !tree.HasExcluded() {
		err = errHidden
	}
	metrics.Compiled(err == nil)
	if err != nil {
		// Whoever may write all fields is not kept from it, unless some are excluded.
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
