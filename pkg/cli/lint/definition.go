// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// maxOnPath is the maximum number of permissions on the path from the root of a schema to a field
// that the server accepts in a definition of a custom resource. It equals crd.MaxPermissionsOnPath.
const maxOnPath = 8

// definition checks the permissions in the schemas of a CustomResourceDefinition.
func (l *objectLinter) definition(node *yaml.Node) error {
	if err := l.checkApplied(node); err != nil {
		return err
	}
	group := text(at(node, "spec", "group"))
	excluded := map[string]bool{}
	versions := 0
	for _, version := range items(at(node, "spec", "versions")) {
		written := at(version, "schema", "openAPIV3Schema")
		if written == nil {
			continue
		}
		versions++
		l.checkConditions(written)
		l.checkMisplaced(written)
		tree, err := l.compile(written)
		if err != nil {
			return err
		}
		l.checkElements(written)
		l.checkNames(written, group)
		if tree == nil {
			continue
		}
		own := map[string]bool{}
		for _, info := range tree.Permissions() {
			if info.Excluded {
				own[info.Name] = true
			}
		}
		if versions == 1 {
			excluded = own
			continue
		}
		for name := range excluded {
			if !own[name] {
				l.report(written, Error, "version %s does not exclude permission %s, but the first version does", text(at(version, "name")), name)
			}
		}
		for name := range own {
			if !excluded[name] {
				l.report(written, Error, "version %s excludes permission %s, but the first version does not", text(at(version, "name")), name)
			}
		}
	}
	return nil
}

// checkConditions warns if the conditions in a schema are a list whose elements have no key. A role can
// name the permission of a single condition, but this permission does not exist then.
func (l *objectLinter) checkConditions(written *yaml.Node) {
	if list := conditionsWithoutKeys(written); list != nil && text(value(written, schema.ExtVerb)) != none {
		l.report(list, Warning, "the list is no map by type (x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type]), "+
			"so granular:condition(...) covers none of its elements")
	}
}

// conditionsWithoutKeys returns the node of .status.conditions in a schema if it is a list of conditions
// that is no map by type. Otherwise it returns nil.
func conditionsWithoutKeys(written *yaml.Node) *yaml.Node {
	list := at(written, "properties", "status", "properties", "conditions")
	keys := texts(at(list, "x-kubernetes-list-map-keys"))
	keyed := text(at(list, "x-kubernetes-list-type")) == "map" && slices.Equal(keys, []string{"type"})
	if keyed || at(list, "items", "properties", "type") == nil {
		return nil
	}
	return list
}

// compile compiles the permissions in a schema as the server does. If the server could not enforce
// some of them, compile reports these permissions as findings and returns no tree.
func (l *objectLinter) compile(written *yaml.Node) (*schema.Tree, error) {
	var decoded any
	if err := written.Decode(&decoded); err != nil {
		return nil, err
	}
	data, err := json.Marshal(decoded)
	if err != nil {
		return nil, fmt.Errorf("a schema is not JSON: %w", err)
	}
	root := &spec.Schema{}
	if err := json.Unmarshal(data, root); err != nil {
		l.report(written, Error, "invalid schema: %v", err)
		return nil, nil
	}
	const name = "root"
	tree, err := schema.NewModels(map[string]*spec.Schema{name: root}, schema.WithExpressions(kinds.ServerComputed{}),
		schema.WithMaxPermissionsOnPath(maxOnPath)).Compile(name)
	if err == nil {
		return tree, nil
	}
	for _, p := range schema.ProblemsOf(err) {
		place := nodeAtSchemaPath(written, p.Place)
		if ext := value(place, p.Extension); ext != nil {
			place = ext
		}
		what := p.Reason
		if p.Extension != "" {
			what = p.Extension + ": " + what
		}
		if p.Extension == schema.ExtVerb && strings.HasPrefix(place.Value, permission.General+":") {
			what = fmt.Sprintf("%s: %v", p.Extension, permission.Validate(place.Value))
		}
		l.report(place, Error, "%s", what)
	}
	return nil, nil
}

// nodeAtSchemaPath returns the YAML node of the schema at a path of fields and elements. If there
// is none, it returns the nearest ancestor that exists.
func nodeAtSchemaPath(node *yaml.Node, place []schema.Step) *yaml.Node {
	for _, step := range place {
		next := at(node, "properties", step.Field)
		if step.Elem {
			if next = value(node, "items"); next == nil {
				next = value(node, "additionalProperties")
			}
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

// checkElements reports the extension for elements of lists. The compiler knows it, because kinds of
// Kubernetes have it, but the server drops it from definitions.
func (l *objectLinter) checkElements(node *yaml.Node) {
	if node == nil {
		return
	}
	if place := value(node, schema.ExtElement); node.Kind == yaml.MappingNode && place != nil {
		l.report(place, Error, "%s: a definition can't have this extension, only kinds of Kubernetes have it; the server ignores it",
			schema.ExtElement)
	}
	for _, below := range node.Content {
		l.checkElements(below)
	}
}

// checkNames warns of permission names that have no domain and are not names of built-in
// permissions.
func (l *objectLinter) checkNames(node *yaml.Node, group string) {
	if node == nil {
		return
	}
	if node.Kind == yaml.MappingNode {
		for _, ext := range []string{schema.ExtVerb, schema.ExtScope} {
			place := value(node, ext)
			if place == nil || place.Value == none {
				continue
			}
			for name := range strings.SplitSeq(place.Value, ",") {
				if permission.Validate(name) != nil || strings.Contains(name, "/") {
					continue
				}
				if known, err := registry.Lookup(name); err == nil && known == nil {
					l.report(place, Warning, "permission %q is not well-known, and another author may use the same name; use %q", name, group+"/"+name)
				}
			}
		}
	}
	for _, below := range node.Content {
		l.checkNames(below, group)
	}
}
