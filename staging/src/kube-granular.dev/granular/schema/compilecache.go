// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// knowledge is what compilations found out about definitions. One compilation at a
// time has it. It is much, and a server compiles each kind once, so it serves those
// that follow soon and is kept only until the garbage collector comes.
type compileCache struct {
	// models says of which definitions, and with which options.
	models *Models
	survey *survey
	// outcomes are what was made of whole definitions.
	entries map[cacheKey]*cacheEntry
	// verbs says of every permission that the compilation met whether it is excluded.
	verbs map[string]bool
}

// learned gives what is known of the definitions, which may be nothing yet. What a
// source made is compiled once.
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

// done hands on what is known, or, of what a source made, the room that it took, unless
// that is large.
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

// equal says that both compile the same definitions alike.
func (m *Models) equal(o *Models) bool {
	if m == o {
		return true
	}
	a, b := reflect.ValueOf(m.expressions), reflect.ValueOf(o.expressions)
	return reflect.ValueOf(m.definitions).Pointer() == reflect.ValueOf(o.definitions).Pointer() &&
		m.maxOnPath == o.maxOnPath && m.uncached == o.uncached &&
		(!a.IsValid() && !b.IsValid() || a.IsValid() && b.IsValid() && a.Comparable() && b.Comparable() && a.Equal(b))
}

// circumstances are all that decides what is made of a definition: the definition
// and what of its place the compiler looks at. Parameter sources above are not among
// them, because nothing is known of a place below one; the way to the place is not,
// because nothing is known where it leads through what the definition refers to.
type cacheKey struct {
	definition, field string
	// last stands for the chain.
	last               *Permission
	scope              string
	metadataDefinition string
	depth              int
	metadata           bool
}

// outcome is what was made of a definition without a problem, how many places it has,
// and what has to agree with the rest of a tree. The node may be nil.
type cacheEntry struct {
	node   *Node
	places int
	verbs  []*Permission
}

// circumstances says whether a place is one of which something may be known.
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

// onlyRefers gives the definition that a schema refers to and adds nothing to, but
// a description and a default.
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

// recall gives what was made of a definition before, unless another permission of the
// tree contradicts it. Then it is compiled, so that the problem is found where it is.
// The bounds need no second look: it lay as deep, and the root is counted last.
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

// remember keeps what was made of a definition, unless the default that may stand
// beside the reference to it is part of that.
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
