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
// Its own size is bounded by twice what is in use.
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
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, last(chain))
	maphash.WriteComparable(&h, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links.one(h.Sum64(), below, func(other *link) bool {
		return other.permission == p && last(other.chain[:len(other.chain)-1]) == last(chain)
	}).chain
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
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, n.features())
	for _, child := range n.Fields {
		maphash.WriteComparable(&h, child)
	}
	for _, key := range n.Keys {
		maphash.WriteComparable(&h, key.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes.one(h.Sum64(), func() *Node { return n }, func(other *Node) bool {
		return n.features() == other.features() && slices.Equal(n.Fields, other.Fields) &&
			slices.EqualFunc(n.Keys, other.Keys, func(a, b Key) bool {
				return a.Name == b.Name && reflect.DeepEqual(a.Default, b.Default)
			})
	})
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

// table finds what is the same by its hash.
type table[T any] struct {
	byHash map[uint64]weak.Pointer[T]
	limit  int
}

// one gives what is there and the same, or a new one.
func (t *table[T]) one(hash uint64, new func() *T, same func(*T) bool) *T {
	other := t.byHash[hash].Value()
	if other != nil && same(other) {
		return other
	}
	mine := new()
	if other != nil {
		return mine // both have one hash: the second is not shared
	}
	if len(t.byHash) >= t.limit {
		t.sweep()
	}
	t.byHash[hash] = weak.Make(mine)
	return mine
}

// sweep drops what is gone.
func (t *table[T]) sweep() {
	live := 0
	for _, p := range t.byHash {
		if p.Value() != nil {
			live++
		}
	}
	kept := make(map[uint64]weak.Pointer[T], live+1)
	for hash, p := range t.byHash {
		if p.Value() != nil {
			kept[hash] = p
		}
	}
	t.byHash, t.limit = kept, max(64, 2*live)
}
