// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"hash/maphash"
	"reflect"
	"slices"
	"sync"
	"weak"
)

// Sharing keeps one copy of what is the same in many trees: nodes that are the same
// with all that is below them and under the same permissions, and permissions under
// the same permissions. It holds nothing itself: what no tree uses any longer is
// gone. It may be used by any number of goroutines, and by any number of Models.
//
// Its own size is bounded by what was in use at once.
type Sharing struct {
	mu    sync.Mutex
	seed  maphash.Seed
	nodes table[Node]
	// permissions tells chains apart too: each ends one.
	permissions table[Permission]
	// met are permissions of custom resources that have no entry, because none may be
	// needed.
	met met
	// learned holds knowledge for compilations that follow soon.
	learned sync.Pool
	// forgot holds knowledge of nothing, for the room it has.
	forgot sync.Pool
}

// NewSharing makes a Sharing that knows nothing yet.
func NewSharing() *Sharing { return &Sharing{seed: maphash.MakeSeed()} }

// WithSharing makes trees of these Models share what is the same with trees of
// other Models. Without it trees of the same Models share.
func WithSharing(s *Sharing) Option {
	return func(m *Models) { m.sharing = s }
}

// below puts a permission below another, which may be nil. Where both are the same, so
// is the result; else it is fresh.
//
// Most permissions of custom resources are those of one definition, and an entry would
// cost more than the permission. So they get one when they are met again: a third tree
// finds that of the second.
func (s *Sharing) below(above *Permission, p Permission, custom bool) (last *Permission, fresh bool) {
	p.above, p.more = above, uint8(above.length())
	if p.Parameter != nil && p.Parameter.Expression != nil {
		// Nothing says when two expressions are the same.
		return &p, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := s.hashOfPermission(&p)
	if custom {
		if last = s.permissions.there(hash, p.same); last != nil {
			return last, false
		}
		if !s.met.again(s.hashOfChain(&p)) {
			return &p, true
		}
	}
	last = s.permissions.one(hash, s.hashOfPermission, &p, p.same)
	return last, last == &p
}

func (s *Sharing) hashOfPermission(p *Permission) uint64 {
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

// hashOfChain is the same for chains that are not shared, but look alike.
func (s *Sharing) hashOfChain(p *Permission) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for ; p != nil; p = p.above {
		h.WriteString(p.Name)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// same compares permissions without expressions.
func (p *Permission) same(o *Permission) bool {
	return p.Name == o.Name && p.above == o.above && p.Excluded == o.Excluded && (p.Parameter == nil) == (o.Parameter == nil) &&
		(p.Parameter == nil || *p.Parameter == *o.Parameter)
}

// node gives the node that is the same, or n. What is below n must be shared already.
func (s *Sharing) node(n *Node) *Node {
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
	return s.nodes.one(s.hashOfNode(n), s.hashOfNode, n, n.same)
}

func (s *Sharing) hashOfNode(n *Node) uint64 {
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
	return n.last == o.last && n.Field == o.Field && n.Kind == o.Kind && n.system == o.system && n.own == o.own &&
		n.NilIsEmpty == o.NilIsEmpty && n.ExcludedAt == o.ExcludedAt && n.ExcludedBelow == o.ExcludedBelow &&
		slices.Equal(n.below(), o.below()) && n.rare.same(o.rare)
}

// same compares all but children.
func (r *rare) same(o *rare) bool {
	if r == nil || o == nil {
		return r.none() && o.none()
	}
	return reflect.DeepEqual(r.keys, o.keys) && reflect.DeepEqual(r.fallback, o.fallback)
}

func (r *rare) none() bool { return r == nil || r.keys == nil && r.fallback == nil }

// table finds what is the same by its hash, from there on slot by slot. It keeps no
// hashes, to be small: they are made again when it grows.
type table[T any] struct {
	slots []weak.Pointer[T]
	// used counts the slots that are not empty, those of what is gone too.
	used int
}

// one gives what is there and the same, or else mine.
func (t *table[T]) one(hash uint64, hashOf func(*T) uint64, mine *T, same func(*T) bool) *T {
	if 4*(t.used+1) > 3*len(t.slots) {
		t.resize(hashOf)
	}
	i, found := t.find(hash, same)
	if found != nil {
		return found
	}
	t.slots[i], t.used = weak.Make(mine), t.used+1
	return mine
}

// there gives what is there and the same, or nil.
func (t *table[T]) there(hash uint64, same func(*T) bool) *T {
	if len(t.slots) == 0 {
		return nil
	}
	_, found := t.find(hash, same)
	return found
}

// find gives what is the same, or else the empty slot where it belongs. What it gives
// it holds: looked up again, it might be gone.
func (t *table[T]) find(hash uint64, same func(*T) bool) (uint64, *T) {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if t.slots[i] == (weak.Pointer[T]{}) {
			return i, nil
		}
		if other := t.slots[i].Value(); other != nil && same(other) {
			return i, other
		}
	}
}

// resize makes room, and forgets what is gone.
func (t *table[T]) resize(hashOf func(*T) uint64) {
	var live []*T
	for _, slot := range t.slots {
		if p := slot.Value(); p != nil {
			live = append(live, p)
		}
	}
	size := 16
	for 3*size < 5*(len(live)+1) {
		size *= 2
	}
	t.slots, t.used = make([]weak.Pointer[T], size), len(live)
	for _, p := range live {
		i, _ := t.find(hashOf(p), func(*T) bool { return false })
		t.slots[i] = weak.Make(p)
	}
}
