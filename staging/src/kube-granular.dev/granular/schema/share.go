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
	links table[link]
	// learned holds knowledge for compilations that follow soon.
	learned sync.Pool
}

// NewSharing makes a Sharing that knows nothing yet.
func NewSharing() *Sharing { return &Sharing{seed: maphash.MakeSeed()} }

// WithSharing makes trees of these Models share what is the same with trees of
// other Models. Without it trees of the same Models share.
func WithSharing(s *Sharing) Option {
	return func(m *Models) { m.sharing = s }
}

// link is a permission below others: the end of a chain. The chain's last element
// points into it, so it lives as long as the chain does.
type link struct {
	permission Permission
	chain      []*Permission
}

// link puts a permission below a chain. Where both are the same, so is the result.
func (s *Sharing) link(chain []*Permission, p Permission) []*Permission {
	below := func() *link {
		l := &link{permission: p}
		l.chain = append(slices.Clip(chain), &l.permission)
		return l
	}
	if p.Expression != nil {
		// Nothing says when two expressions are the same.
		return below().chain
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links.one(s.hashOfPermission(chain, p), s.hashOfLink, below, func(other *link) bool {
		return other.permission == p && last(other.above()) == last(chain)
	}).chain
}

// above is the chain that the link goes on from.
func (l *link) above() []*Permission { return l.chain[:len(l.chain)-1] }

func (s *Sharing) hashOfLink(l *link) uint64 { return s.hashOfPermission(l.above(), l.permission) }

func (s *Sharing) hashOfPermission(above []*Permission, p Permission) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, last(above))
	maphash.WriteComparable(&h, p)
	return h.Sum64()
}

// last tells chains apart: each permission is in the one that it ends, and in those
// that go on from there.
func last(chain []*Permission) *Permission {
	if len(chain) == 0 {
		return nil
	}
	return chain[len(chain)-1]
}

// node gives the node that is the same, or n. What is below n must be shared already.
func (s *Sharing) node(n *Node) *Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes.one(s.hashOfNode(n), s.hashOfNode, func() *Node { return n }, func(other *Node) bool {
		return n.features() == other.features() && slices.Equal(n.Fields, other.Fields) &&
			slices.EqualFunc(n.Keys, other.Keys, func(a, b Key) bool {
				return a.Name == b.Name && reflect.DeepEqual(a.Default, b.Default)
			})
	})
}

func (s *Sharing) hashOfNode(n *Node) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, n.features())
	for _, child := range n.Fields {
		maphash.WriteComparable(&h, child)
	}
	for _, key := range n.Keys {
		maphash.WriteComparable(&h, key.Name)
	}
	return h.Sum64()
}

// features is everything about a node but its lists.
type features struct {
	field                                 string
	kind                                  Kind
	system                                system
	own, depth                            int
	last                                  *Permission
	elem                                  *Node
	nilIsEmpty, excludedAt, excludedBelow bool
}

func (n *Node) features() features {
	return features{n.Field, n.Kind, n.system, n.Own, len(n.Chain), last(n.Chain), n.Elem, n.NilIsEmpty, n.ExcludedAt, n.ExcludedBelow}
}

// table finds what is the same by its hash, from there on slot by slot. It keeps no
// hashes, to be small: they are made again when it grows.
type table[T any] struct {
	slots []weak.Pointer[T]
	// used counts the slots that are not empty, those of what is gone too.
	used int
}

// one gives what is there and the same, or a new one.
func (t *table[T]) one(hash uint64, hashOf func(*T) uint64, new func() *T, same func(*T) bool) *T {
	if 4*(t.used+1) > 3*len(t.slots) {
		t.resize(hashOf)
	}
	i, found := t.find(hash, same)
	if found != nil {
		return found
	}
	mine := new()
	t.slots[i], t.used = weak.Make(mine), t.used+1
	return mine
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
