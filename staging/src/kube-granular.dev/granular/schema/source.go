// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"sync"
	"weak"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// WithSource sets the source of definitions that are large and generated for one compilation.
// Trees do not keep such definitions. A Cursor needs them, but only for messages. The source then
// generates them again, and they are cached until the garbage collector frees them.
//
// The source must return definitions equal to those of the Models, at any time and from any
// goroutine, and must not call the tree. It returns nil if the definitions are not available. The
// result must not be changed.
func WithSource(source func() map[string]*spec.Schema) Option {
	return func(m *Models) { m.source = source }
}

// definitionCache holds the last result of a source through a weak pointer.
type definitionCache struct {
	making      sync.Mutex
	definitions weak.Pointer[definitions]
}

// permanent marks trees whose definitions stay in memory anyway, so that they need no cache.
var permanent definitionCache

// definedBy sets the source that returns the definitions from which the tree was compiled.
func (t *Tree) definedBy(m *Models) {
	if t.source = m.source; t.source == nil {
		all := m.definitions
		t.source = func() map[string]*spec.Schema { return all }
		t.cached.Store(&permanent)
	}
}

// schemas returns the definitions that the tree was compiled from, nil if they are not available.
// Concurrent callers wait until one of them has generated the definitions.
func (t *Tree) schemas() definitions {
	if t.source == nil {
		return nil // the tree was not compiled
	}
	l := t.cached.Load()
	if l == &permanent {
		return t.source()
	}
	if l == nil {
		t.cached.CompareAndSwap(nil, &definitionCache{})
		l = t.cached.Load()
	}
	l.making.Lock()
	defer l.making.Unlock()
	if made := l.definitions.Value(); made != nil {
		return *made
	}
	made := definitions(t.source())
	l.definitions = weak.Make(&made)
	return made
}
