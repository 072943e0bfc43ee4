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

// Sharing keeps one copy of what is the same in many trees: nodes that are the same
// with all that is below them and under the same permissions, and permissions under
// the same permissions. It holds nothing itself: what no tree uses any longer is
// gone. It may be used by any number of goroutines, and by any number of Models.
//
// Its own size is bounded by what was in use at once.
type Interner struct {
	mu    sync.Mutex
	seed  maphash.Seed
	nodes intern.Table[Node]
	// permissions tells chains apart too: each ends one.
	permissions intern.Table[Permission]
	// learned holds knowledge for compilations that follow soon.
	filledCaches sync.Pool
	// forgot holds knowledge of nothing, for the room it has.
	emptyCaches sync.Pool
}

// NewSharing makes a Sharing that knows nothing yet.
func NewInterner() *Interner { return &Interner{seed: maphash.MakeSeed()} }

// WithSharing makes trees of these Models share what is the same with trees of
// other Models. Without it trees of the same Models share.
func WithInterner(s *Interner) Option {
	return func(m *Models) { m.interner = s }
}

// below puts a permission below another, which may be nil. Where both are the same, so
// is the result; else it is fresh.
func (s *Interner) below(above *Permission, p Permission) (last *Permission, fresh bool) {
	p.above, p.depth = above, uint8(above.length())
	if p.Parameter != nil && p.Parameter.Expression != nil {
		// Nothing says when two expressions are the same.
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

// same compares permissions without expressions.
func (p *Permission) same(o *Permission) bool {
	return p.Name == o.Name && p.above == o.above && p.Excluded == o.Excluded && (p.Parameter == nil) == (o.Parameter == nil) &&
		(p.Parameter == nil || *p.Parameter == *o.Parameter)
}

// node gives the node that is the same, or n. What is below n must be shared already.
func (s *Interner) node(n *Node) *Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Most leaves have a permission that no other has: it finds them without an entry.
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

// same compares all but children. Who has any of it has a rare.
func (r *extra) same(o *extra) bool {
	if r == nil || o == nil {
		return r == o
	}
	return reflect.DeepEqual(r.keys, o.keys) && reflect.DeepEqual(r.fallback, o.fallback)
}
