// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"hash/maphash"
	"reflect"
	"slices"
	"sync"

	"kube-granular.dev/granular/schema/internal/intern"
)

// Interner keeps one copy of equal nodes and permissions of many trees. Nodes are equal if
// everything below and above them is equal: their children and their chain of permissions. An
// Interner holds weak pointers to nodes and permissions, so it keeps none of them alive. It may be
// used by any number of goroutines and any number of Models.
//
// Its size is bounded by the number of nodes and permissions that were in use at once.
type Interner struct {
	mu    sync.Mutex
	seed  maphash.Seed
	nodes intern.Table[Node]
	// permissions has the interned permissions. Each also identifies a chain: the chain whose last
	// permission it is.
	permissions intern.Table[Permission]
	// filledCaches has caches of earlier compilations (see compileCache) with their results, for
	// compilations that follow soon.
	filledCaches sync.Pool
	// emptyCaches has caches (see compileCache) whose results were removed, so that their memory
	// is used again.
	emptyCaches sync.Pool
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner { return &Interner{seed: maphash.MakeSeed()} }

// WithInterner makes trees of these Models share equal nodes with trees of other Models. By
// default only trees of the same Models share.
func WithInterner(s *Interner) Option {
	return func(m *Models) { m.interner = s }
}

// below returns the interned permission that equals p and follows directly after the permission
// above in a chain. If p begins a chain, above is nil. fresh is set if no equal permission was
// interned before.
func (s *Interner) below(above *Permission, p Permission) (last *Permission, fresh bool) {
	p.above, p.depth = above, uint8(above.length())
	if p.Parameter != nil && p.Parameter.Expression != nil {
		// Expressions can't be compared, so a permission with one is never shared.
		return &p, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last = s.permissions.One(&p, s.hashOfPermission, p.same)
	return last, last == &p
}

func (s *Interner) hashOfPermission(p *Permission) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, p.above)
	h.WriteString(p.Name)
	if p.Parameter != nil {
		h.WriteString(p.Parameter.Source)
		h.WriteByte(byte(p.Parameter.SourceDepth))
	}
	return h.Sum64()
}

// same reports whether two permissions are equal. Neither of them may have an expression.
func (p *Permission) same(o *Permission) bool {
	return p.Name == o.Name && p.above == o.above && p.Excluded == o.Excluded && p.Element == o.Element &&
		p.Entry == o.Entry && p.Embedded == o.Embedded && (p.Parameter == nil) == (o.Parameter == nil) &&
		(p.Parameter == nil || *p.Parameter == *o.Parameter)
}

// node returns the interned node that equals n, or n itself. The children of n must be interned
// already.
func (s *Interner) node(n *Node) *Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Most leaves carry a permission. The field leaf of a leaf's last permission refers to the
	// first such leaf, so this first leaf needs no entry in the table.
	if n.Kind == Leaf && n.own > 0 {
		if n.last.leaf == nil {
			n.last.leaf = n
		}
		if n.same(n.last.leaf) {
			return n.last.leaf
		}
	}
	return s.nodes.One(n, s.hashOfNode, n.same)
}

func (s *Interner) hashOfNode(n *Node) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, n.last)
	h.WriteString(n.Field)
	h.WriteByte(byte(n.Kind))
	for _, child := range n.below() {
		maphash.WriteComparable(&h, child)
	}
	for _, key := range n.Keys() {
		h.WriteString(key.Name)
	}
	return h.Sum64()
}

func (n *Node) same(o *Node) bool {
	return n.last == o.last && n.Field == o.Field && n.Kind == o.Kind && n.traits == o.traits && n.own == o.own &&
		n.NilIsEmpty == o.NilIsEmpty && n.ExcludedAt == o.ExcludedAt && n.ExcludedBelow == o.ExcludedBelow &&
		slices.Equal(n.below(), o.below()) && n.extra.same(o.extra)
}

// same reports whether r and o are equal, apart from their children.
func (r *extra) same(o *extra) bool {
	if r == nil || o == nil {
		return r == o
	}
	return reflect.DeepEqual(r.keys, o.keys) && reflect.DeepEqual(r.fallback, o.fallback)
}
