// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

// Attribute is a kind of metadata attribute (label or annotation), or a set of these kinds.
type Attribute uint8

const (
	// Label is the kind of labels.
	Label Attribute = 1 << iota
	// Annotation is the kind of annotations.
	Annotation
)

// String returns the name of the kind as APIs spell it.
func (a Attribute) String() string {
	switch a {
	case 0:
		return "None"
	case Label:
		return "Label"
	case Annotation:
		return "Annotation"
	}
	return "Label or Annotation"
}

// attributeOf has the kind of attribute for each parameter source whose keys are keys of labels or
// annotations. The metadata of built-in kinds declares these sources, and schemas may declare them
// for any other map.
var attributeOf = map[string]Attribute{"label-key": Label, "annotation-key": Annotation}

// Attribute returns the kind of attribute (label or annotation) whose keys are the keys of the
// node's value, and 0 for other nodes. Such a node is a Map, or a Leaf if no permission takes the
// key.
func (n *Node) Attribute() Attribute { return n.traits.attribute() }

// Attributes returns the kinds of attributes at and below the node.
func (n *Node) Attributes() Attribute { return n.traits.below() }

// Scope returns the name of the scope that begins at the node, and "" if none does.
func (n *Node) Scope() string {
	if n.traits&scopeTrait == 0 {
		return ""
	}
	last := n.last // the scope is the last permission of the node where it begins, apart from entries
	for last.Entry {
		last = last.above
	}
	return last.Name
}

// attribute returns the kind of attribute that a parameter source stands for. It is 0 for lists
// and scalars, because attributes are maps of strings.
func (l layers) attribute(source extensionValue) Attribute {
	name, _ := source.value.(string)
	found := attributeOf[name]
	if found == 0 || len(l.items()) > 0 {
		return 0
	}
	if !l.mayBe("object") || !l.additional().mayBe("string") {
		return 0
	}
	return found
}

// mayBe reports whether the schemas allow values of the named type: each of them has either no
// type, or a list of types that contains this one.
func (l layers) mayBe(name string) bool {
	for _, s := range l {
		if len(s.Type) > 0 && !s.Type.Contains(name) {
			return false
		}
	}
	return true
}

// system describes which fields of a node the server itself writes: none, those of the root, or
// those of the object's own metadata.
type system uint8

const (
	noSystem system = iota
	rootSystem
	metadataSystem
)

// traits packs small facts about a node into one byte, because there are many nodes.
//
//	bits 0, 1  system
//	bit 2      a scope begins here
//	bits 3, 4  the attribute whose keys are here
//	bits 5, 6  the attributes whose keys are here or below
//	bit 7      a permission here makes its parameter from the value
type traits uint8

const (
	systemTraits   traits = 1<<2 - 1
	scopeTrait     traits = 1 << 2
	attributeShift        = 3
	belowShift            = 5
	valueTrait     traits = 1 << 7
)

func (t traits) system() system       { return system(t & systemTraits) }
func (t traits) attribute() Attribute { return Attribute(t>>attributeShift) & (Label | Annotation) }
func (t traits) below() Attribute     { return Attribute(t>>belowShift) & (Label | Annotation) }

func (t *traits) setSystem(s system)       { *t = *t&^systemTraits | traits(s) }
func (t *traits) setAttribute(a Attribute) { *t |= traits(a) << attributeShift }
func (t *traits) addBelow(a Attribute)     { *t |= traits(a) << belowShift }
