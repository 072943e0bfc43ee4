// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// compileCache holds what compilations found out about definitions, so that the next compilation
// need not find it out again. Only one compilation at a time uses a cache. A cache is large, and a
// server compiles each kind once, so a cache is useful only to compilations that follow soon.
// Between compilations a cache is in a sync.Pool, which the garbage collector empties.
type compileCache struct {
	// models are the definitions and options for which the cached results are valid.
	models *Models
	survey *survey
	// entries are the compiled nodes of whole definitions.
	entries map[cacheKey]*cacheEntry
	// verbs has the name of every permission that the current compilation met. The value is true
	// if the permission is excluded.
	verbs map[string]bool
}

// takeCache returns a cache for the definitions of m. The cache is filled if an earlier
// compilation of the same definitions left one, and empty if not. Generated definitions (see
// WithSource) are compiled only once, so they always get an empty cache.
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

// returnCache returns a cache to its pool. A cache of generated definitions (see WithSource) is
// emptied first: nobody needs its results again, only its memory. Such a cache is not returned at
// all if it is large.
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
// the parts of the compileContext that the compiler reads. The parameter sources above are not in
// the key, because nothing is cached below a parameter source. The definitions entered on the way
// are not in the key either, because nothing is cached if the definition refers back to one of
// those, directly or not.
type cacheKey struct {
	definition, field string
	// last identifies the chain of permissions above.
	last               *Permission
	scope              string
	metadataDefinition string
	depth              int
	metadata           bool
}

// cacheEntry is the result for a definition without problems. node may be nil. places counts the
// node and all nodes below it, a shared node once for each of its places. verbs are the
// permissions that these nodes carry, one for each name. A tree may use the entry only if its
// other permissions of the same names are excluded exactly if those in verbs are.
type cacheEntry struct {
	node   *Node
	places int
	verbs  []*Permission
}

// cacheKey returns the key under which the node of some schemas is cached, for the place that p
// describes. It returns false if the node must not be cached.
func (c *compiler) cacheKey(schemas layers, p compileContext) (cacheKey, bool) {
	if c.models.uncached || c.models.source != nil || p.root || p.variedDefaults || p.sources != nil || len(schemas) != 1 {
		return cacheKey{}, false
	}
	name := onlyRefers(schemas[0])
	found := c.survey.scans[name]
	if name == "" || found == nil || c.survey.reaches(found, p.entered) {
		return cacheKey{}, false
	}
	return cacheKey{name, p.field, p.last, p.scope, c.metadata, p.at.depth(), p.metadata}, true
}

// onlyRefers returns the name of the definition that a schema refers to. It returns "" if there is
// no reference, or if the schema adds more to the reference than a description and a default.
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

// lookUp returns the cached node for a key. It returns false if there is none. It also returns
// false if the node, or one below, has a permission that the tree also has elsewhere, and only one
// of the two is excluded: the definition is then compiled again, so that this problem is reported
// at its place. lookUp need not check MaxDepth, because the depth is part of the key. It adds the
// places of the node to c.nodes, which the node above compares with MaxNodes.
func (c *compiler) lookUp(key cacheKey) (*Node, bool) {
	known := c.entries[key]
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

// store caches the node of a definition. It does not cache a node that may have a default: a
// default may stand beside the reference to the definition, so two references to one definition
// may have different defaults.
func (c *compiler) store(key cacheKey, n *Node) {
	if n != nil && n.defaults() {
		return
	}
	o := &cacheEntry{node: n}
	if n != nil {
		o.measure(n)
	}
	c.entries[key] = o
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
