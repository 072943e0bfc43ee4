// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// compileCache is what compilations found out about definitions. One compilation at a time uses
// it. It is large, and a server compiles each kind once. So it serves compilations that follow
// soon, and is kept in a pool, which the garbage collector empties.
type compileCache struct {
	// models are the definitions, and the options, that the cache is for.
	models *Models
	survey *survey
	// entries are the results for whole definitions.
	entries map[cacheKey]*cacheEntry
	// verbs has every permission that the compilation met, and whether it is excluded.
	verbs map[string]bool
}

// takeCache returns the cache for the definitions, which may be empty. Generated definitions are
// compiled only once, so they get an empty one.
func (m *Models) takeCache() *compileCache {
	if m.source != nil {
		if k, _ := m.interner.emptyCaches.Get().(*compileCache); k != nil {
			k.models = m
			return k
		}
		return m.newCache()
	}
	if k, _ := m.interner.filledCaches.Get().(*compileCache); k != nil && k.models.equal(m) {
		return k
	}
	return m.newCache()
}

// returnCache returns a cache to its pool. The cache of generated definitions is emptied first,
// and is dropped if it is large: only its memory is used again.
func (m *Models) returnCache(k *compileCache) {
	clear(k.verbs)
	if m.source == nil {
		m.interner.filledCaches.Put(k)
		return
	}
	if k.survey.size() <= maxReusedArena {
		k.models = nil
		k.survey.reset()
		m.interner.emptyCaches.Put(k)
	}
}

func (m *Models) newCache() *compileCache {
	return &compileCache{
		models:  m,
		survey:  &survey{scans: map[string]*scan{}, candidates: map[uintptr][]field{}},
		entries: map[cacheKey]*cacheEntry{},
		verbs:   map[string]bool{},
	}
}

// equal reports whether both compile the same definitions in the same way.
func (m *Models) equal(o *Models) bool {
	if m == o {
		return true
	}
	a, b := reflect.ValueOf(m.expressions), reflect.ValueOf(o.expressions)
	return reflect.ValueOf(m.definitions).Pointer() == reflect.ValueOf(o.definitions).Pointer() &&
		m.maxOnPath == o.maxOnPath && m.uncached == o.uncached &&
		(!a.IsValid() && !b.IsValid() || a.IsValid() && b.IsValid() && a.Comparable() && b.Comparable() && a.Equal(b))
}

// cacheKey is everything that the result for a definition depends on: the definition, and what
// the compiler reads of its context. Parameter sources above are not part of it, because nothing
// is cached below one. Neither are the definitions entered on the way, because nothing is cached
// if the definition leads back to one of them.
type cacheKey struct {
	definition, field string
	// last identifies the chain.
	last               *Permission
	scope              string
	metadataDefinition string
	depth              int
	metadata           bool
}

// cacheEntry is the result for a definition without problems: its node, which may be nil, how
// many places the node has, and the permissions that must agree with the rest of the tree.
type cacheEntry struct {
	node   *Node
	places int
	verbs  []*Permission
}

// cacheKey returns the key of a schema in its context, and false if its result can't be cached.
func (c *compiler) cacheKey(in layers, p compileContext) (cacheKey, bool) {
	if c.models.uncached || c.models.source != nil || p.root || p.variedDefaults || p.sources != nil || len(in) != 1 {
		return cacheKey{}, false
	}
	name := onlyRefers(in[0])
	found := c.survey.scans[name]
	if name == "" || found == nil || c.survey.reaches(found, p.entered) {
		return cacheKey{}, false
	}
	return cacheKey{name, p.field, p.last, p.scope, c.metadata, p.at.depth(), p.metadata}, true
}

// onlyRefers returns the definition that a schema refers to if the schema adds nothing but a
// description and a default.
func onlyRefers(s *spec.Schema) string {
	if len(s.Extensions) > 0 || len(s.Properties) > 0 || s.AdditionalProperties != nil || s.Items != nil || len(s.AllOf) > 1 {
		return ""
	}
	name := refName(s)
	if len(s.AllOf) == 0 {
		return name
	}
	if name != "" {
		return ""
	}
	return onlyRefers(&s.AllOf[0])
}

// lookUp returns the cached result for a key, unless another permission of the tree contradicts
// it: the two have the same name, and only one is excluded. The definition is then compiled again,
// so that the problem is reported where it is. The bounds need no second check: the depth is part
// of the key, and the places of a cached subtree are added to the count of nodes when it is reused.
func (c *compiler) lookUp(at cacheKey) (*Node, bool) {
	known := c.entries[at]
	if known == nil {
		return nil, false
	}
	for _, v := range known.verbs {
		if excluded, met := c.verbs[v.Name]; met && excluded != v.Excluded {
			return nil, false
		}
	}
	for _, v := range known.verbs {
		c.verbs[v.Name] = v.Excluded
	}
	c.nodes += known.places
	return known.node, true
}

// store caches the result for a definition, unless it depends on the default that may stand
// beside the reference to the definition.
func (c *compiler) store(at cacheKey, n *Node) {
	if n != nil && n.defaults() {
		return
	}
	o := &cacheEntry{node: n}
	if n != nil {
		o.measure(n)
	}
	c.entries[at] = o
}

func (o *cacheEntry) measure(n *Node) {
	o.places++
	for _, p := range n.Own() {
		if !slices.ContainsFunc(o.verbs, func(v *Permission) bool { return v.Name == p.Name }) {
			o.verbs = append(o.verbs, p)
		}
	}
	for _, child := range n.below() {
		o.measure(child)
	}
}
