// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"sync"
	"weak"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// WithSource is for definitions that are large and were put together for one
// compilation: trees do not keep them. For cursors, which serve messages alone, they are
// made again, and used again until the garbage collector takes them.
//
// The source must give definitions equal to those of the Models, whenever and from
// whatever goroutine it is called, and must not come back to the tree; it gives nil
// where it can't. Nobody may change what it gives.
func WithSource(source func() map[string]*spec.Schema) Option {
	return func(m *Models) { m.source = source }
}

// loan is what a source gave last, unless the garbage collector took it.
type definitionCache struct {
	making      sync.Mutex
	definitions weak.Pointer[definitions]
}

// kept stands for a loan where there is none: definitions that somebody has anyway.
var permanent definitionCache

// definedBy says where the definitions are to be had that the tree was compiled from.
func (t *Tree) definedBy(m *Models) {
	if t.source = m.source; t.source == nil {
		all := m.definitions
		t.source = func() map[string]*spec.Schema { return all }
		t.cached.Store(&permanent)
	}
}

// schemas gives the definitions the tree was compiled from, nil if they can't be had.
// Who waits for others to make them need not do so again.
func (t *Tree) schemas() definitions {
	if t.source == nil {
		return nil // a tree that nobody compiled
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
