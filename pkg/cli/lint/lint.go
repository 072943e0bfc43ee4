// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
)

// The severity levels of findings.
const (
	Error   = "error"
	Warning = "warning"
)

// Finding is one mistake in an object of a file.
type Finding struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Level  string `json:"level"`
	// Object is the kind and the name of the object with the mistake.
	Object  string `json:"object"`
	Message string `json:"message"`
}

// String formats the finding like a compiler error.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s: %s", f.File, f.Line, f.Column, f.Level, f.Object, f.Message)
}

// File checks all YAML documents of a file: roles, definitions of custom resources, protected
// attributes, field permissions, delegations and delegation policies. It ignores objects of other kinds. looked is the number of checked
// objects.
func File(name string, data []byte) (findings []Finding, looked int, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		if len(document.Content) == 0 {
			continue
		}
		if line := aliased(&document); line > 0 {
			return nil, 0, fmt.Errorf("%s:%d: anchors and aliases are not checked, write the value out", name, line)
		}
		if document.Content[0].Kind != yaml.MappingNode {
			if document.Content[0].Tag == "!!null" {
				continue
			}
			return nil, 0, fmt.Errorf("%s:%d: not an object of Kubernetes", name, document.Content[0].Line)
		}
		f, n, err := object(name, document.Content[0])
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		findings, looked = append(findings, f...), looked+n
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return findings, looked, nil
}

// object checks one object, or the objects of a list.
func object(file string, node *yaml.Node) ([]Finding, int, error) {
	kind, name := text(at(node, "kind")), text(at(node, "metadata", "name"))
	l := &objectLinter{file: file, object: kind + " " + name}
	switch kind {
	case "Role", "ClusterRole":
		return l.role(node), 1, nil
	case "CustomResourceDefinition":
		err := l.definition(node)
		return l.findings, 1, err
	case "ProtectedAttribute", "ClusterProtectedAttribute", "FieldPermission", "AuthorityDelegation", "AuthorityDelegationPolicy":
		if !strings.HasPrefix(text(at(node, "apiVersion")), v1alpha1.GroupName+"/") {
			return nil, 0, nil
		}
		err := l.authorityObject(kind, node)
		return l.findings, 1, err
	case "List":
		var all []Finding
		looked := 0
		for _, item := range items(at(node, "items")) {
			f, n, err := object(file, item)
			if err != nil {
				return nil, 0, err
			}
			all, looked = append(all, f...), looked+n
		}
		return all, looked, nil
	}
	return nil, 0, nil
}

// authorityObject checks an object of the group authority.kube-granular.dev.
func (l *objectLinter) authorityObject(kind string, node *yaml.Node) error {
	switch kind {
	case "ProtectedAttribute":
		return l.attribute(node, validation.Namespaced)
	case "ClusterProtectedAttribute":
		return l.attribute(node, validation.Cluster)
	case "FieldPermission":
		return l.fieldPermission(node)
	case "AuthorityDelegationPolicy":
		return l.policy(node)
	}
	return l.delegation(node)
}

// objectLinter collects the findings in one object.
type objectLinter struct {
	file, object string
	findings     []Finding
}

func (l *objectLinter) report(node *yaml.Node, level, format string, args ...any) {
	l.findings = append(l.findings, Finding{l.file, node.Line, node.Column, level, l.object, fmt.Sprintf(format, args...)})
}

// aliased returns the line of the first anchor or alias in a document, or 0. What an alias stands for would not be checked, and
// it may stand for what it is in.
func aliased(node *yaml.Node) int {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return node.Line
	}
	for _, child := range node.Content {
		if line := aliased(child); line > 0 {
			return line
		}
	}
	return 0
}

// at returns the YAML node at a path of keys, or nil.
func at(node *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if node = value(node, key); node == nil {
			return nil
		}
	}
	return node
}

func value(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

func text(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	return node.Value
}

func texts(node *yaml.Node) []string {
	var out []string
	for _, item := range items(node) {
		out = append(out, item.Value)
	}
	return out
}
