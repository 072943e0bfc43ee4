// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Compile compiles the permission tree of one definition. Use Models to compile many.
func Compile(definitions map[string]*spec.Schema, root string) (*Tree, error) {
	return NewModels(definitions).Compile(root)
}

// ByKind compiles the permission tree of one kind. Use Models to compile many.
func ByKind(definitions map[string]*spec.Schema, kind gvkschema.GroupVersionKind) (*Tree, error) {
	return NewModels(definitions).ByKind(kind)
}

// Compile compiles the permission tree of the definition named root. An error means that the
// permissions of the schema can't be enforced. The server must then assume that any field of the
// kind may be excluded, which means that the verb update alone does not suffice to change the
// field.
func (m *Models) Compile(root string) (*Tree, error) {
	s := m.definitions[root]
	if s == nil {
		return nil, fmt.Errorf("schema: no definition %s", root)
	}
	known := m.takeCache()
	defer m.returnCache(known)
	known.survey.extend(m.definitions, root)
	c := &compiler{models: m, root: root, compileCache: known, expressions: map[string]compiledExpression{}}
	n, err := c.node(layers{s}, compileContext{entered: &definitionStack{name: root}, root: true})
	if err == nil {
		err = c.report(nil, c.survey.check(root))
	}
	if err != nil || len(c.problems) > 0 {
		return nil, fmt.Errorf("schema of %s: %w", root, c.problems)
	}
	tree := &Tree{Name: root, Root: n}
	tree.definedBy(m)
	return tree, nil
}

// compileContext is what the compiler knows about the place of a schema in the tree: what lies
// above it on the path from the root.
type compileContext struct {
	entered *definitionStack
	at      *schemaPath
	// field is the name of the field, and empty for elements.
	field string
	// last is the last permission of the chain of the node above.
	last  *Permission
	scope string
	// sources are the parameter sources on the path, the innermost last.
	sources []parameterSource
	// element is the innermost element with a permission of its own, or nil; see element.
	element *element
	// root is set only for the object itself, ownMetadata only for the field metadata of the
	// object, and metadata for this field and everything below it.
	root, metadata, ownMetadata bool
	// variedDefaults is set below a map whose schema also lists some keys as properties. The
	// defaults at these keys may differ from those at other keys, so nodes below such a map get no
	// default.
	variedDefaults bool
}

type parameterSource struct {
	source     string
	depth, key int
}

type compiler struct {
	models *Models
	*compileCache
	root string
	// metadata is the name of the definition of the object's own metadata.
	metadata    string
	expressions map[string]compiledExpression
	// cursors caches the results of the method cursor, which reads defaults.
	cursors map[*schemaPath]Cursor
	nodes   int
	// fresh counts the nodes and permissions that this compilation made because no other tree has
	// them.
	fresh    int
	problems Problems
}

// node compiles the schemas of one field or element into a node. It returns a nil node if the
// place and everything below it has neither a permission nor keys of labels or annotations. It
// also returns nil if it reported a problem that makes it impossible to compile the rest of the
// place. An error ends the whole compilation.
func (c *compiler) node(schemas layers, p compileContext) (*Node, error) {
	if p.ownMetadata {
		schemas = c.ownMetadata(schemas)
	}
	key, whole := c.cacheKey(schemas, p)
	if !whole {
		return c.make(schemas, p)
	}
	if n, known := c.lookUp(key); known {
		return n, nil
	}
	problems := len(c.problems)
	n, err := c.make(schemas, p)
	if err == nil && len(c.problems) == problems {
		c.store(key, n)
	}
	return n, err
}

func (c *compiler) make(schemas layers, p compileContext) (*Node, error) {
	l, err := c.expand(schemas, &p)
	if err != nil {
		return nil, c.report(p.at, err)
	}
	if p.at.depth() > MaxDepth {
		return nil, c.stop(faultf("", "more than %d levels deep", MaxDepth))
	}
	fresh := c.fresh
	n := &Node{Field: p.field, NilIsEmpty: p.metadata}
	if err := c.report(p.at, c.permissions(n, l, &p)); err != nil {
		return nil, err
	}
	p.last = n.last
	if err := c.children(n, l, p); err != nil {
		return nil, err
	}
	keep := n.own > 0 || n.count > 0 || n.Attribute() != 0
	switch {
	case p.root:
		n.traits.setSystem(rootSystem)
		keep = true
	case p.ownMetadata:
		n.traits.setSystem(metadataSystem)
		n.Kind = Object
		keep = true
	}
	if !keep {
		return nil, nil
	}
	if c.nodes++; c.nodes > MaxNodes {
		return nil, c.stop(faultf("", "more than %d places with permissions", MaxNodes))
	}
	c.finish(n, p)
	if c.models.uncached {
		return n, nil
	}
	// The inline schemas of the root definition are rarely in another tree. So a node of such a
	// schema is not interned if a permission or a node below it is new: an entry in the interner
	// would cost as much as the node itself. If a second tree has an equal node, its parts are no
	// longer new. The second tree's node is then interned, and a third tree shares it.
	if p.entered.above == nil && !p.metadata && c.fresh != fresh && n.Kind != Leaf {
		c.fresh++
		return n, nil
	}
	shared := c.models.interner.node(n)
	if shared == n {
		c.fresh++
	}
	return shared, nil
}

// finish sets those properties of a node that depend on its chain and its children: whether a
// permission at the node or below it is excluded, the kinds of attributes at and below the node,
// and the default of the field if decisions need the default.
func (c *compiler) finish(n *Node, p compileContext) {
	for above := n.last; above != nil; above = above.above {
		n.ExcludedAt = n.ExcludedAt || above.Excluded
	}
	for _, child := range n.below() {
		n.ExcludedBelow = n.ExcludedBelow || child.ExcludedAt || child.ExcludedBelow
		n.traits.addBelow(child.Attributes())
	}
	n.traits.addBelow(n.Attribute())
	if n.defaults() && n.Field != "" && !p.variedDefaults {
		if fallback := c.cursor(p.at).Default(); fallback != nil {
			n.ensureExtra().fallback = fallback
		}
	}
}

// cursor returns the cursor at a path. The compiler itself enters only definitions that may have a
// permission. But a definition without a permission may have a default, so defaults are read
// through cursors.
func (c *compiler) cursor(path *schemaPath) Cursor {
	if path == nil {
		return c.models.definitions.root(c.root)
	}
	if known, met := c.cursors[path]; met {
		return known
	}
	above := c.cursor(path.above)
	schemas := above.layers.items()
	if !path.step.Elem {
		schemas = c.survey.property(above.layers, path.step.Field)
	}
	if len(schemas) == 0 {
		schemas = above.layers.additional()
	}
	if c.cursors == nil {
		c.cursors = map[*schemaPath]Cursor{}
	}
	c.cursors[path] = above.at(schemas)
	return c.cursors[path]
}

// expand returns the given schemas, followed by those that they refer to if a permission may be
// there. It adds the definitions that it entered to p.entered.
func (c *compiler) expand(schemas layers, p *compileContext) (layers, error) {
	if !slices.ContainsFunc(schemas, refers) {
		return schemas, nil
	}
	above, embedded := p.entered, !p.metadata && p.scope == ""
	e := expansion{definitions: c.models.definitions, entered: above, follow: func(name string) (bool, error) {
		found := c.survey.scans[name]
		switch {
		case found == nil:
			return false, fmt.Errorf("definition %s is missing", name)
		case !found.carries:
			return false, nil
		case name == c.metadata && embedded:
			// A second object is embedded here without a scope, and the definition is that of its
			// metadata. The labels of the embedded object are not those of the outer object, so
			// nothing in this metadata gets a permission.
			return false, nil
		case above.has(name):
			if found.excludes {
				return false, fmt.Errorf("definition %s refers to itself and contains an excluded permission", name)
			}
			return false, nil
		}
		return true, c.survey.check(name)
	}}
	err := e.all(schemas)
	p.entered = e.entered
	return e.out, err
}

// ownMetadata returns the schemas of the object's own metadata. The schema of a custom resource
// says only that metadata is an object, so the definition of ObjectMeta is added for it.
func (c *compiler) ownMetadata(schemas layers) layers {
	e := expansion{definitions: c.models.definitions, follow: func(string) (bool, error) { return false, nil }}
	if err := e.all(schemas); err == nil && e.first != "" {
		c.metadata = e.first
		return schemas
	}
	c.metadata = objectMetaDefault
	if s := c.models.definitions[objectMetaDefault]; s != nil {
		return append(slices.Clip(schemas), s)
	}
	return schemas
}

func (c *compiler) children(n *Node, l layers, p compileContext) error {
	var fields []*Node
	if p.root {
		// metadata is first, because its compilation sets c.metadata.
		if err := c.field(&fields, "metadata", c.survey.property(l, "metadata"), p); err != nil {
			return err
		}
	}
	names := c.carrying(l)
	for _, name := range names {
		if p.root && name == "metadata" {
			continue
		}
		if err := c.field(&fields, name, c.survey.property(l, name), p); err != nil {
			return err
		}
	}
	if len(fields) > 0 {
		n.Kind = Object
		slices.SortFunc(fields, func(a, b *Node) int { return strings.Compare(a.Field, b.Field) })
		n.setBelow(fields)
	}
	return c.elements(n, l, p)
}

// carrying returns the sorted names of the fields that may have a permission, at or below the
// field, in at least one of the layers.
func (c *compiler) carrying(l layers) []string {
	var names []string
	for _, s := range l {
		fields := c.survey.candidates[identity(s.Properties)]
		for i := range fields {
			if c.survey.fieldCarries(&fields[i]) {
				names = append(names, fields[i].name)
			}
		}
	}
	if len(l) > 1 {
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

func (c *compiler) field(fields *[]*Node, name string, l layers, p compileContext) error {
	below := p
	below.at, below.field = p.at.field(name), name
	below.root = false
	below.ownMetadata = p.root && name == "metadata"
	below.metadata = p.metadata || below.ownMetadata
	child, err := c.node(l, below)
	if err != nil || child == nil {
		return err
	}
	*fields = append(*fields, child)
	return nil
}

// stop reports a problem and ends the compilation.
func (c *compiler) stop(err error) error {
	if err := c.report(nil, err); err != nil {
		return err
	}
	return errTooMany
}
