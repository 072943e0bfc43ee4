// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/json"
	kyaml "sigs.k8s.io/yaml"
)

// Limits of one test with all of its files. They are far above what a test needs.
const (
	maxFile     = 1 << 20
	maxTotal    = 8 << 20
	maxFiles    = 200
	maxObjects  = 1000
	maxCases    = 1000
	maxDepth    = 100
	maxMistakes = 50
)

// document is one YAML document: its value as clients of Kubernetes read it, and its nodes, which
// know the lines.
type document struct {
	value any
	node  *yaml.Node
}

// errTooLarge means that a file is larger than maxFile, or all files than maxTotal.
var errTooLarge = fmt.Errorf("too large: a file may have %d KiB, and all files of a test %d KiB", maxFile>>10, maxTotal>>10)

// documents parses the YAML documents of a file. Empty documents are left out.
func documents(data []byte) ([]document, error) {
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	var out []document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		switch err := decoder.Decode(&node); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if err := checkNode(&node, 0); err != nil {
			return nil, err
		}
		value, err := valueOf(&node)
		if err != nil {
			return nil, err
		}
		if value != nil {
			out = append(out, document{value, node.Content[0]})
		}
	}
}

// valueOf converts a document as kubectl does. Both libraries agree on the syntax of YAML, but not on
// words such as yes.
func valueOf(node *yaml.Node) (any, error) {
	text, err := yaml.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("line %d: not a document", node.Line)
	}
	data, err := kyaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("the document at line %d can't be read as JSON", node.Line)
	}
	var value any
	err = json.Unmarshal(data, &value)
	return value, err
}

// checkNode returns an error for aliases, for keys that occur twice or are no texts, and for values
// inside too many others. It runs before anything resolves an alias.
func checkNode(node *yaml.Node, depth int) error {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not supported, write the value out", node.Line)
	case depth > maxDepth:
		return fmt.Errorf("line %d: more than %d values inside each other", node.Line, maxDepth)
	}
	seen := map[string]bool{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if child.Kind != yaml.ScalarNode || child.Tag == "!!merge" {
				return fmt.Errorf("line %d: the key is not a text", child.Line)
			}
			if seen[child.Value] {
				return fmt.Errorf("line %d: key %q occurs twice", child.Line, child.Value)
			}
			seen[child.Value] = true
		}
		if err := checkNode(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// lineOf returns the number in an error of this file, and the rest of the text.
func lineOf(err error) (int, string) {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, message, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil {
			return line, message
		}
	}
	return 0, text
}

// key returns the node of a key, and the node of its value. They are nil if there is no such key.
func key(node *yaml.Node, name string) (keyNode, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}
