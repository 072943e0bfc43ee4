// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apischema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/rule"
	"kube-granular.dev/granular/rule/worlds"
	"kube-granular.dev/granular/schema"
)

const group = "example.com"

// version is one version of a definition.
type version struct {
	kind  gvk.GroupVersionKind
	root  *worlds.Node
	names worlds.Names
	field *rule.Field
	// structural is how upstream prunes and sets defaults.
	structural *apischema.Structural
	// first is the name of the first field, which the webhook renames. It is empty if the version lacks it.
	first string
}

func newVersion(name string, root *worlds.Node, names worlds.Names) *version {
	out := &version{kind: gvk.GroupVersionKind{Group: group, Version: name, Kind: "Thing"}, root: root, names: names}
	out.field, out.structural = names.Field(root), structural(root)
	out.field.Fields["metadata"] = &rule.Field{Kind: rule.Scalar, Permissions: []rule.Permission{{Name: "metadata"}}}
	if len(root.Kids) > 0 && root.Kids[0].Number == 2 {
		out.first = root.Kids[0].Name
	}
	return out
}

// structural returns the schema of a node as upstream prunes by it.
func structural(n *worlds.Node) *apischema.Structural {
	out := &apischema.Structural{}
	out.Default.Object = n.Mark.Default
	switch n.Kind {
	case rule.Scalar:
		out.Type = "string"
	case rule.Object:
		out.Type, out.Properties = "object", map[string]apischema.Structural{"k": {Generic: apischema.Generic{Type: "string"}}}
		for _, kid := range n.Kids {
			out.Properties[kid.Name] = *structural(kid)
		}
	case rule.Map:
		out.Type, out.AdditionalProperties = "object", &apischema.StructuralOrBool{Structural: structural(n.Kids[0])}
	default:
		out.Type, out.Items = "array", structural(n.Kids[0])
	}
	return out
}

// model returns the schema as the server publishes it.
func (v *version) model() *spec.Schema {
	out := v.names.OpenAPI(v.root)
	for _, name := range []string{"apiVersion", "kind"} {
		out.Properties[name] = *spec.StringProperty()
	}
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	metadata.AddExtension(schema.ExtVerb, "metadata")
	out.Properties["metadata"] = metadata
	out.AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": v.kind.Group, "version": v.kind.Version, "kind": v.kind.Kind}})
	return &out
}

// excludes reports whether a node at or inside n has an excluded permission.
func excludes(n *worlds.Node) bool { return n.Mark.Excluded || slices.ContainsFunc(n.Kids, excludes) }

// definition is a custom resource with several versions. New objects are stored in current.
type definition struct {
	current, other *version
	// third is nil without a webhook.
	third   *version
	webhook bool
	// same is set if current and other have equal schemas.
	same   bool
	schema *granular.Schema
}

// newDefinition returns an error if a version does not compile.
func newDefinition(current *worlds.Node, v variant, webhook bool) (*definition, error) {
	d := &definition{webhook: webhook, same: v.same && !webhook, current: newVersion("v2", current, worlds.Names{})}
	other := v.root(current)
	if webhook {
		rename(other, "z")
		third := clone(current, nil)
		rename(third, "y")
		d.third = newVersion("v3", third, worlds.Names{Suffix: "t"})
	}
	d.other = newVersion("v1", other, v.names)
	models := map[string]*spec.Schema{}
	for _, one := range d.versions() {
		if !defaultsFit(one.root) {
			return nil, errDefault
		}
		models[one.kind.Version] = one.model()
		if _, err := schema.Compile(models, one.kind.Version); err != nil {
			return nil, err
		}
	}
	d.schema = granular.NewSchema(models)
	d.schema.Excludes = []gvk.GroupVersionKind{}
	for _, one := range d.versions() {
		if excludes(one.root) {
			d.schema.Excludes = append(d.schema.Excludes, one.kind)
		}
	}
	if webhook {
		d.schema.Converted = d.schema.Excludes
	}
	return d, nil
}

var errDefault = errors.New("a default has a field that the schema lacks")

// defaultsFit reports whether all defaults at and inside n have fields of the schema only.
func defaultsFit(n *worlds.Node) bool {
	fields, _ := n.Mark.Default.(map[string]any)
	for name := range fields {
		if !slices.ContainsFunc(n.Kids, func(kid *worlds.Node) bool { return kid.Name == name }) {
			return false
		}
	}
	return !slices.ContainsFunc(n.Kids, func(kid *worlds.Node) bool { return !defaultsFit(kid) })
}

// rename renames the first field of a version, unless the version lacks it.
func rename(root *worlds.Node, name string) {
	if len(root.Kids) > 0 && root.Kids[0].Number == 2 {
		root.Kids[0].Name = name
	}
}

func (d *definition) versions() []*version {
	if d.third == nil {
		return []*version{d.other, d.current}
	}
	return []*version{d.other, d.current, d.third}
}

// converted returns an object in another version, as the webhook converts it. It shares memory with o.
func (d *definition) converted(o map[string]any, source, target *version) map[string]any {
	out := maps.Clone(o)
	if value, ok := o[source.first]; ok && d.webhook && source != target && target.first != "" {
		delete(out, source.first)
		out[target.first] = value
	}
	return out
}

func (d *definition) version(name string) *version {
	all := d.versions()
	return all[slices.IndexFunc(all, func(v *version) bool { return v.kind.Version == name })]
}

// ConvertToVersion implements runtime.ObjectConvertor for the webhook.
func (d *definition) ConvertToVersion(list runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	given, ok := list.(*unstructured.UnstructuredList)
	if !ok || !d.webhook {
		return nil, fmt.Errorf("%T is not to be converted", list)
	}
	out := given.DeepCopy()
	version := d.version(target.(gvk.GroupVersion).Version)
	for i := range out.Items {
		u := &out.Items[i]
		u.Object = d.converted(u.Object, d.version(u.GroupVersionKind().Version), version)
		u.SetGroupVersionKind(version.kind)
	}
	return out, nil
}

// Convert implements runtime.ObjectConvertor.
func (*definition) Convert(_, _, _ any) error { return fmt.Errorf("only lists are converted") }

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (*definition) ConvertFieldLabel(_ gvk.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// stored returns how a server that has just started stores the objects. data is the object that is stored.
func (d *definition) stored(data []byte) *granular.Stored {
	out := &granular.Stored{Kind: d.current.kind, Webhook: d.webhook, Versions: map[string]*granular.StoredVersion{}}
	for _, v := range d.versions() {
		one := out.Add(v.kind.Version, v == d.current || v == d.other && d.same, nil)
		one.StorageCodec(codec{d, v})
		one.Read = func(context.Context, string) (*granular.StoredObject, error) {
			raw := &granular.StoredObject{Data: data}
			raw.ResourceVersion = resourceVersion
			return raw, nil
		}
	}
	return out
}
