// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// compileCache holds what compilations found out about definitions, for the next compilation. One
// compilation at a time uses it. It is large, and a server compiles each kind once, so it serves
// only compilations that follow soon. It is kept in a pool, which the garbage collector empties.
type compileCache struct {
	// models are the definitions, and the options, that the cache is for.
	models *Models
	survey *survey
	// entries are the compiled nodes of whole definitions.
	entries map[cacheKey]*cacheEntry
	// verbs has every permission that the current compilation met, and whether it is excluded.
	verbs map[string]bool
}

// takeCache returns a cache for the definitions, which may be empty. Generated definitions (see
// WithSource) are compiled only once, so they get an empty cache.
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
// because only its memory is of use again. If it is large, it is dropped.
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

// equal reports whether m and o compile the same definitions in the same way.
func (m *Models) equal(o *Models) bool {
	if m == o {
		return true
	}
	a, b := reflect.ValueOf(m.expressions), reflect.ValueOf(o.expressions)
	return reflect.ValueOf(m.definitions).Pointer() == reflect.ValueOf(o.definitions).Pointer() &&
		m.maxOnPath == o.maxOnPath && m.uncached == o.uncached &&
		(!a.IsValid() && !b.IsValid() || a.IsValid() && b.IsValid() && a.Comparable() && b.Comparable() && a.Equal(b))
}

// cacheKey is everything that the compiled node of a definition depends on: the definition, and
// what the compiler reads of its context. The key lacks the parameter sources above, because
// nothing is cached below one. It also lacks the definitions entered on the way, because nothing
// is cached if the definition leads back to one of them.
type cacheKey struct {
	definition, field string
	// last identifies the chain of permissions above.
	last               *Permission
	scope              string
	metadataDefinition string
	depth              int
	metadata           bool
}

// cacheEntry is the result for a definition without problems: its node, which may be nil, the
// number of places that the node and the nodes below have, and the permissions in it. Another
// permission of the tree with the same name must be excluded exactly if the one in verbs is.
type cacheEntry struct {
	node   *Node
	places int
	verbs  []*Permission
}

// cacheKey returns the key of a schema in its context. It returns false if the compiled node can't
// be cached.
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

// onlyRefers returns the name of the definition that a schema refers to, if the schema adds
// nothing but a description and a default. Otherwise it returns "".
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

// lookUp returns the cached node for a key. It returns false if there is none, or if the node has
// a permission that the tree also has elsewhere, and only one of the two is excluded. The
// definition is then compiled again, so that the problem is reported where it is. The bounds need
// no second check: the depth is part of the key, and the places of the node are added to the
// count.
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

// store caches the node of a definition, unless the node may have a default: the default may stand
// beside the reference to the definition, and so differ between references.
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
