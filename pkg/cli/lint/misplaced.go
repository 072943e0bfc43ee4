// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go.yaml.in/yaml/v3"

	"kube-granular.dev/granular/schema"
)

// replacedSchemas are the fields whose schemas the server replaces by its own, in the whole object and in
// embedded ones.
var replacedSchemas = []string{"apiVersion", "kind", "metadata"}

// none stands for no permission, at the root of a schema.
const none = "none"

// checkMisplaced reports extensions at places where the server refuses them, although they compile: at the
// root, and in metadata, kind and apiVersion. It reports the name "none" below the root, too.
func (l *objectLinter) checkMisplaced(root *yaml.Node) {
	if all := extensionsOf(root); len(all) != 1 || text(value(root, schema.ExtVerb)) != none {
		for _, place := range all {
			l.report(place, Error, "the object as a whole can't have a permission, because its metadata has permissions of its own")
		}
	}
	l.checkBelow(root, root)
}

func (l *objectLinter) checkBelow(root, node *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return
	}
	if place := value(node, schema.ExtVerb); node != root && text(place) == none {
		l.report(place, Error, "none is not a permission: at the root of the schema it turns off the permissions that fields have by convention")
	}
	if node == root || text(value(node, "x-kubernetes-embedded-resource")) == "true" {
		for _, name := range replacedSchemas {
			l.checkReplaced(at(node, "properties", name), name)
		}
	}
	properties := value(node, "properties")
	for i := 1; properties != nil && i < len(properties.Content); i += 2 {
		l.checkBelow(root, properties.Content[i])
	}
	l.checkBelow(root, value(node, "additionalProperties"))
	l.checkBelow(root, value(node, "items"))
}

// checkReplaced reports all extensions in a schema that the server replaces.
func (l *objectLinter) checkReplaced(node *yaml.Node, name string) {
	for _, place := range extensionsOf(node) {
		l.report(place, Error, "the server replaces the schema of this %s by its own, so this extension has no effect", name)
	}
	for i := 1; node != nil && i < len(node.Content); i += 2 {
		l.checkReplaced(node.Content[i], name)
	}
}

// extensionsOf returns the values of the permission extensions that a schema itself has.
func extensionsOf(node *yaml.Node) (out []*yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if schema.IsPermissionExtension(node.Content[i].Value) {
			out = append(out, node.Content[i+1])
		}
	}
	return out
}
