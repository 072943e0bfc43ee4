// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
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
	scratch *sync.Pool
}

var (
	errNoSchema    = errors.New("the schema of the kind is not known")
	noSchema       = &kind{err: errNoSchema}
	errNoPlainKind = errors.New("the object can't be compared field by field")
	errStandIn     = errors.New("an annotation stands in for a field, and fields of the kind are excluded")
	errHidden      = errors.New("an excluded permission of its definition has no effect")

	// language is that of the expressions in definitions that are stored.
	language = expression.Stored()

	// shared lets the trees of all kinds, built in or not, have one copy of what is the
	// same in them. It knows of no models, and of trees only as long as a kind has them,
	// so nothing of a definition outlives the endpoints that were built from it.
	shared = schema.NewSharing()
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

// excludesNothing says that no version of the definition of a custom resource mentions
// an excluded permission. Then an ordinary write needs no tree, so none is compiled before
// the first granular request. What every definition has of the server's own, metadata,
// excludes nothing either.
func excludesNothing(target granular.Target) bool {
	return target.Schema != nil && target.Schema.Excludes != nil && len(target.Schema.Excludes) == 0
}

// compileKind fails closed where no tree is to be had, and where the tree excludes
// nothing although the definition of the kind does.
func compileKind(of gvk.GroupVersionKind, source func() map[string]*spec.Schema, excludes []gvk.GroupVersionKind) *kind {
	options := []schema.Option{schema.WithExpressions(language), schema.WithSharing(shared)}
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
		k.scratch = &sync.Pool{}
	}
	return k
}

// open says that an ordinary caller may write whatever the ordinary verb allows.
func (k *kind) open() bool {
	if k.walker == nil {
		return !k.excluded
	}
	return k.walker.Idle(change.Sparse)
}

// mentionsExcluded looks for excluded permissions anywhere among models.
func mentionsExcluded(models map[string]*spec.Schema) bool {
	for _, model := range models {
		if model != nil && schemaExcludes(model) {
			return true
		}
	}
	return false
}

func schemaExcludes(s *spec.Schema) bool {
	if v, ok := s.Extensions[schema.ExtExcluded]; ok && v != false {
		return true
	}
	for name := range s.Properties {
		property := s.Properties[name]
		if schemaExcludes(&property) {
			return true
		}
	}
	for i := range s.AllOf {
		if schemaExcludes(&s.AllOf[i]) {
			return true
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && schemaExcludes(s.AdditionalProperties.Schema) {
		return true
	}
	return s.Items != nil && s.Items.Schema != nil && schemaExcludes(s.Items.Schema)
}

// compare says which permissions changed from old to new. A nil old, or one that
// was never stored, makes everything in new a change but what every new object of
// the kind has by default.
func (k *kind) compare(target granular.Target, mode change.Mode, newObj, oldObj runtime.Object) (change.Set, error) {
	return k.changes(target, newObj, oldObj, func(old, new any) (change.Set, error) {
		return k.walker.Compare(mode, old, new)
	})
}

// compareObserved is compare for what becomes of an observed change, with which its
// result is intersected.
func (k *kind) compareObserved(target granular.Target, mode change.Mode, observed change.Set, newObj, oldObj runtime.Object) (change.Set, error) {
	return k.changes(target, newObj, oldObj, func(old, new any) (change.Set, error) {
		return k.walker.CompareObserved(mode, observed, old, new)
	})
}

func (k *kind) changes(target granular.Target, newObj, oldObj runtime.Object, compare func(old, new any) (change.Set, error)) (change.Set, error) {
	if k.walker == nil {
		return nil, k.err
	}
	s := k.borrow()
	set, err := k.changesIn(s, target, newObj, oldObj, compare)
	k.giveBack(s)
	return set, err
}

func (k *kind) changesIn(s *scratch, target granular.Target, newObj, oldObj runtime.Object, compare func(old, new any) (change.Set, error)) (change.Set, error) {
	newVersioned, err := s.versionedNew(target, newObj)
	if err != nil {
		return nil, err
	}
	if stored(oldObj) {
		oldVersioned, err := s.versionedOld(target, oldObj)
		if err != nil {
			return nil, err
		}
		set, err := compare(oldVersioned, newVersioned)
		if err != nil || newVersioned == any(newObj) {
			return set, err
		}
		standIns, err := k.standIns(target, newObj, oldObj, newVersioned, oldVersioned)
		return append(standIns, set...), err
	}
	set, err := compare(nil, newVersioned)
	if err != nil {
		return nil, err
	}
	// What is not there was not written; what is there by default neither.
	if blank := pristine(target); blank != nil && len(set) > 0 {
		written, err := compare(blank, newVersioned)
		if err != nil {
			return nil, err
		}
		set = change.Intersect(written, set)
	}
	if newVersioned == any(newObj) {
		return set, nil
	}
	standIns, err := k.standIns(target, newObj, nil, newVersioned, nil)
	return append(standIns, set...), err
}

// locate names the field behind a change, for a message, by one of the walker's ways.
func (k *kind) locate(target granular.Target, c change.Change, newObj, oldObj runtime.Object, by func(w *change.Walker, c change.Change, old, new any) string) string {
	newVersioned, err := versioned(target, newObj)
	if err != nil {
		return by(k.walker, c, nil, nil)
	}
	oldVersioned, err := before(target, oldObj)
	if err != nil {
		return by(k.walker, c, nil, nil)
	}
	return by(k.walker, c, oldVersioned, newVersioned)
}

// before is what a new object is shown against, nil standing for nothing at all.
func before(target granular.Target, oldObj runtime.Object) (any, error) {
	if stored(oldObj) {
		return versioned(target, oldObj)
	}
	return pristine(target), nil
}

// pristine is an object that says nothing, after defaulting. Defaults come with
// decoding: the phase of a namespace is set before anybody can look, and is not what
// its creator wrote. Upstream's convertors are schemes, which make and default the
// objects they convert; where one is not, and for custom resources, everything in a
// new object counts.
func pristine(target granular.Target) any {
	scheme, ok := target.Convertor.(interface {
		runtime.ObjectCreater
		runtime.ObjectDefaulter
	})
	if !ok {
		return nil
	}
	object, err := scheme.New(target.Kind)
	if err != nil {
		return nil
	}
	scheme.Default(object)
	return object
}

// versioned brings an object into the version of the request, which is the one
// that permissions are written for. The result may share memory with obj.
func versioned(target granular.Target, obj runtime.Object) (any, error) {
	if _, ok := obj.(runtime.Unstructured); ok {
		// A custom resource is held in the version of the request already.
		return obj, nil
	}
	if target.Convertor == nil {
		return nil, errNoPlainKind
	}
	return target.Convertor.ConvertToVersion(obj, target.Kind.GroupVersion())
}

// stored says whether an object comes from storage. Handlers pass an empty object
// for one that does not exist yet.
func stored(obj runtime.Object) bool {
	if obj == nil {
		return false
	}
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetUID() != ""
}
