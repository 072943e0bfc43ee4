// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema"
)

// Field is a field of a kind, or an element of a map or a list.
type Field struct {
	// Path is the path of the field, such as .metadata.labels[*].
	Path string
	// Name is the name of the field, or [*] for the elements of a map or a list.
	Name string
	// Type is the type in the format of kubectl explain, such as string or []Container.
	Type        string
	Description string
	// Own are the permissions that are declared at the field, from general to specific.
	Own []*schema.Permission
	// Cover are the permissions of which one is sufficient to change the field, from general to
	// specific. A permission is excluded if update does not include its field. If Cover has an
	// excluded permission, it has no permissions of fields further up that are not excluded,
	// because those do not include the excluded field either.
	Cover []*schema.Permission
	// Excluded is true if the verbs update and patch do not include the field, so that every caller
	// needs a permission of Cover.
	Excluded bool
	// Scope is the name of the scope that begins at the field, or "". All permissions below the
	// field have it as a prefix, as in podTemplateImage.
	Scope string
	// System is true if only the server writes the field.
	System bool

	// node is the node of the permission tree for the field, or for the nearest field above that
	// has a node. at is true if the node is that of the field itself.
	node *schema.Node
	at   bool
	// layers are the schemas that together describe the field: its own schema first, then those
	// that it refers to by $ref or allOf.
	layers []*spec.Schema
	kind   *Kind
	// above are the names of the published definitions on the path to the field, to detect
	// recursion.
	above []string
}

// Root returns the field for the whole object.
func (k *Kind) Root() *Field {
	f := &Field{kind: k, node: k.Tree.Root, at: true}
	f.describe(k.definitions[k.Tree.Name])
	f.above = append(f.above, k.Tree.Name)
	return f
}

// Fields returns the direct children of a field, sorted by name. The child of a map or a list is
// its element [*]. If a definition contains itself, the inner occurrence is left out.
func (f *Field) Fields() []*Field {
	properties := map[string]*spec.Schema{}
	var elem *spec.Schema
	for _, layer := range f.layers {
		for name := range layer.Properties {
			if properties[name] == nil {
				p := layer.Properties[name]
				properties[name] = &p
			}
		}
		if elem == nil && layer.Items != nil && layer.Items.Schema != nil {
			elem = layer.Items.Schema
		}
		if elem == nil && layer.AdditionalProperties != nil && layer.AdditionalProperties.Schema != nil {
			elem = layer.AdditionalProperties.Schema
		}
	}
	var out []*Field
	for name, s := range properties {
		if f.Path == "" && (name == "apiVersion" || name == "kind") {
			continue // apiVersion and kind identify the kind and can't be changed
		}
		if below := f.below(name, f.Path+"."+name, s); below != nil {
			out = append(out, below)
		}
	}
	slices.SortFunc(out, func(a, b *Field) int { return strings.Compare(a.Name, b.Name) })
	if elem != nil {
		if below := f.below("[*]", f.Path+"[*]", elem); below != nil {
			out = append(out, below)
		}
	}
	return out
}

// below returns a child of the field, or nil if a definition would contain itself.
func (f *Field) below(name, path string, s *spec.Schema) *Field {
	out := &Field{Name: name, Path: path, System: f.System, kind: f.kind, above: slices.Clone(f.above), node: f.node}
	if f.at {
		var next *schema.Node
		if name == "[*]" {
			next = f.node.Elem()
		} else {
			next = f.node.Child(name)
			out.System = out.System || f.node.Ignores(name)
		}
		if next != nil {
			out.node, out.at = next, true
		}
	}
	if !out.describe(s) {
		return nil
	}
	return out
}

// describe sets the properties of the field from its schema. It returns false if the schema refers
// to a definition in f.above, because that definition then contains itself.
func (f *Field) describe(s *spec.Schema) bool {
	for queue := []*spec.Schema{s}; len(queue) > 0; queue = queue[1:] {
		layer := queue[0]
		if layer == nil {
			continue
		}
		f.layers = append(f.layers, layer)
		f.Description = cmp.Or(f.Description, layer.Description)
		if name := reference(layer); name != "" {
			if slices.Contains(f.above, name) {
				return false
			}
			f.above = append(f.above, name)
			queue = append(queue, f.kind.definitions[name])
		}
		for i := range layer.AllOf {
			queue = append(queue, &layer.AllOf[i])
		}
	}
	f.Type = f.kind.typeOf(f.layers)
	f.Cover, f.Excluded = decide.Candidates(f.node)
	if f.at {
		f.Own, f.Scope = f.node.Own(), f.node.Scope()
	}
	return true
}

func reference(s *spec.Schema) string {
	ref := s.Ref.String()
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// typeOf returns the name of a type as in kubectl explain.
func (k *Kind) typeOf(layers []*spec.Schema) string {
	for _, s := range layers {
		switch {
		case len(s.Type) > 0 && s.Type[0] == "array" && s.Items != nil && s.Items.Schema != nil:
			return "[]" + k.typeOf(k.resolve(s.Items.Schema))
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			return "map[string]" + k.typeOf(k.resolve(s.AdditionalProperties.Schema))
		case reference(s) != "":
			name := reference(s)
			if d := k.definitions[name]; d != nil && len(d.Properties) == 0 && len(d.Type) > 0 {
				return d.Type[0]
			}
			return name[strings.LastIndexByte(name, '.')+1:]
		case len(s.Type) > 0 && len(s.AllOf) == 0:
			if s.Type[0] == "object" {
				return "Object"
			}
			return s.Type[0]
		}
	}
	return "Object"
}

func (k *Kind) resolve(s *spec.Schema) []*spec.Schema {
	out := []*spec.Schema{s}
	for i := range s.AllOf {
		out = append(out, k.resolve(&s.AllOf[i])...)
	}
	return out
}

// Find returns the field at a path such as spec.template.spec.containers.image. Elements of lists
// and maps may be omitted, as in kubectl explain, or written as [*].
func (k *Kind) Find(path string) (*Field, error) {
	current := k.Root()
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return current, nil
	}
	for _, name := range strings.Split(strings.ReplaceAll(path, "[*]", ""), ".") {
		next := current.field(name)
		if next == nil {
			var have []string
			for _, f := range current.element().Fields() {
				have = append(have, f.Name)
			}
			where := cmp.Or(strings.TrimPrefix(current.Path, "."), k.String())
			return nil, fmt.Errorf("field %q does not exist: %s has %s", name, where, strings.Join(have, ", "))
		}
		current = next
	}
	if strings.HasSuffix(path, "[*]") {
		current = current.element()
	}
	return current, nil
}

func (f *Field) field(name string) *Field {
	for _, below := range f.element().Fields() {
		if below.Name == name {
			return below
		}
	}
	return nil
}

// element returns the innermost element of a list or a map. For a list of lists, that is the
// element of the inner lists. It returns any other field itself.
func (f *Field) element() *Field {
	for field := f; ; {
		below := field.Fields()
		if len(below) != 1 || below[0].Name != "[*]" {
			return field
		}
		field = below[0]
	}
}

// HasPermissions reports whether a permission is declared at the field or at a field below it.
func (f *Field) HasPermissions() bool { return f.at }
