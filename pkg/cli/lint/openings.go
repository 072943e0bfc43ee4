// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Openings compares the definitions in a file with stored ones, the YAML documents in stored. It
// returns a warning for each field that a stored definition excludes, and that more callers may
// change if the definition of the same name in the file is written. Unlike the server, it does not
// compare types, defaults and keys of lists, nor conversions.
func Openings(file string, data, stored []byte) ([]Finding, error) {
	before, err := objects(stored, "CustomResourceDefinition")
	if err != nil {
		return nil, err
	}
	after, err := objects(data, "CustomResourceDefinition")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []Finding
	for _, node := range after {
		name := text(at(node, "metadata", "name"))
		for _, old := range before {
			if text(at(old, "metadata", "name")) == name {
				l := &objectLinter{file: file, object: "CustomResourceDefinition " + name}
				if err := l.openings(node, old, l.opens); err != nil {
					return nil, err
				}
				out = append(out, l.findings...)
			}
		}
	}
	return out, nil
}

// objects returns the objects of some kinds in YAML documents, and those in lists.
func objects(data []byte, kinds ...string) ([]*yaml.Node, error) {
	var out []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		for _, node := range document.Content {
			for _, object := range append(slices.Clone(items(at(node, "items"))), node) {
				if slices.Contains(kinds, text(at(object, "kind"))) {
					out = append(out, object)
				}
			}
		}
	}
}

// openings compares a definition with the stored one. Like the server, it compares each version in
// use with the stored version of the same name, or else with the version that objects are stored in. It
// calls opens for each opening.
func (l *objectLinter) openings(node, stored *yaml.Node, opens reporter) error {
	var base []*yaml.Node
	for _, version := range items(at(stored, "spec", "versions")) {
		if text(at(version, "storage")) == "true" {
			base = slices.Insert(base, 0, version)
		} else if text(at(version, "served")) == "true" {
			base = append(base, version)
		}
	}
	if len(base) == 0 {
		return nil
	}
	versions := items(at(node, "spec", "versions"))
	for _, version := range versions {
		if text(at(version, "served")) != "true" && text(at(version, "storage")) != "true" {
			continue
		}
		old := base[0]
		if i := slices.IndexFunc(base, func(v *yaml.Node) bool { return text(at(v, "name")) == text(at(version, "name")) }); i >= 0 {
			old = base[i]
		}
		if err := openedVersion(version, old, opens); err != nil {
			return err
		}
	}
	if hasExtension(at(stored, "spec", "versions")) && !hasExtension(at(node, "spec", "versions")) {
		opens(node, "the definition has no permission extension any more")
	}
	return nil
}

func openedVersion(version, stored *yaml.Node, opens reporter) error {
	updated, old := at(version, "schema", "openAPIV3Schema"), at(stored, "schema", "openAPIV3Schema")
	if updated == nil || old == nil {
		return nil
	}
	silent := &objectLinter{} // File reports what does not compile
	before, err := silent.compile(old)
	if err != nil || before == nil {
		return err
	}
	after, err := silent.compile(updated)
	if err != nil || after == nil {
		return err
	}
	lost := map[string]bool{}
	for place := range before.NodePaths() {
		way := place.Steps()
		if place.Node().ExcludedAt && exactly(old, way) && !exactly(updated, way) {
			lost[place.Pattern()] = true
			opens(nodeAtSchemaPath(updated, way), "the excluded field %s is not in the schema any more", place.Pattern())
		}
	}
	for _, w := range decide.Widenings(before, after, expressionIn(old), expressionIn(updated)) {
		switch pattern := schema.Pattern(w.Way); {
		case lost[pattern]:
		case w.Verb == "":
			opens(nodeAtSchemaPath(updated, w.Way), "%s is no longer excluded", pattern)
		default:
			opens(nodeAtSchemaPath(updated, w.Way), "%s can be changed with another permission, %s", pattern, w.Verb)
		}
	}
	return nil
}

// reporter reports what a change opens, at a place in the new definition.
type reporter func(node *yaml.Node, format string, args ...any)

func (l *objectLinter) opens(node *yaml.Node, format string, args ...any) {
	l.report(node, Warning, "%s, which needs the verb %s", fmt.Sprintf(format, args...), permission.Verb{Permission: permission.Exclusion})
}

// expressionIn returns the expressions of a schema by the path of the field.
func expressionIn(root *yaml.Node) decide.Expression {
	return func(way []schema.Step) string {
		return text(value(nodeAtSchemaPath(root, way), schema.ExtExpression))
	}
}

// exactly reports whether a schema has a field at a path.
func exactly(root *yaml.Node, way []schema.Step) bool {
	for i := range way {
		if nodeAtSchemaPath(root, way[:i+1]) == nodeAtSchemaPath(root, way[:i]) {
			return false
		}
	}
	return true
}

// hasExtension reports whether a YAML node has a permission extension anywhere below.
func hasExtension(node *yaml.Node) bool {
	if node == nil {
		return false
	}
	if node.Kind == yaml.MappingNode {
		for i := 0; i < len(node.Content); i += 2 {
			if strings.HasPrefix(node.Content[i].Value, "x-kubernetes-permission-") {
				return true
			}
		}
	}
	return slices.ContainsFunc(node.Content, hasExtension)
}
