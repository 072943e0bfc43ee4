// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/lint"
)

// Addition is one extension that a definition lacks.
type Addition struct {
	File string `json:"file"`
	// Line is the line after which the extension belongs, in the file as it is.
	Line int `json:"line"`
	// Extension and Value are what is missing.
	Extension string `json:"extension"`
	Value     string `json:"value"`
	// Marker is the place of the marker that wants it.
	Marker string `json:"marker"`
	indent int
}

// File is a file with definitions.
type File struct {
	Name string
	Data []byte
}

// Mark returns the files with the extensions that the markers want in their definitions, and what it added. The
// markers are those of the Go packages in folders. A folder that ends in "/..." stands for all folders below it
// too. The error lists all mistakes, each with its file and line.
func Mark(folders []string, files []File) ([]File, []Addition, error) {
	t, err := readTypes(folders)
	if err != nil {
		return nil, nil, err
	}
	var out []File
	var added []Addition
	for _, f := range files {
		text, additions, err := t.mark(f)
		if err != nil {
			return nil, nil, err
		}
		out, added = append(out, File{f.Name, text}), append(added, additions...)
	}
	for _, m := range t.markers {
		if !m.used {
			t.fault(m.position, "none of the definitions has the type or the field of this marker")
		}
	}
	return out, added, t.err()
}

// mark returns the text of a file with the additions.
func (t *goTypes) mark(f File) ([]byte, []Addition, error) {
	wanted, err := t.visit(f)
	if err != nil {
		return nil, nil, err
	}
	additions := missing(f, wanted)
	result := File{f.Name, insert(f.Data, additions)}
	if len(t.faults) > 0 {
		return result.Data, additions, nil
	}
	// The written file must have nothing to add. The linter then sees what the server would refuse.
	again, err := t.visit(result)
	if err != nil {
		return nil, nil, err
	}
	if left := missing(result, again); len(left) > 0 {
		return nil, nil, fmt.Errorf("%s:%d: the extension of the marker at %s can't be added there", f.Name, left[0].Line, left[0].Marker)
	}
	return result.Data, additions, t.lint(result, again, additions)
}

// visit walks through all definitions of a file. It returns the wanted extensions of each schema.
func (t *goTypes) visit(f File) (map[*yaml.Node]map[string]*marker, error) {
	w := &walk{goTypes: t, file: f.Name, wanted: map[*yaml.Node]map[string]*marker{}}
	found := 0
	for decoder := yaml.NewDecoder(bytes.NewReader(f.Data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if len(document.Content) == 0 || text(at(document.Content[0], "kind")) != "CustomResourceDefinition" {
			continue
		}
		found++
		if err := w.definition(document.Content[0]); err != nil {
			return nil, err
		}
	}
	if found == 0 {
		return nil, fmt.Errorf("%s: the file has no CustomResourceDefinition", f.Name)
	}
	return w.wanted, w.err
}

// definition walks through the versions of one definition.
func (w *walk) definition(node *yaml.Node) error {
	group, kind := text(at(node, "spec", "group")), text(at(node, "spec", "names", "kind"))
	versions := at(node, "spec", "versions")
	if versions == nil || versions.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s:%d: the definition has no versions", w.file, node.Line)
	}
	for _, version := range versions.Content {
		name, root := text(at(version, "name")), at(version, "schema", "openAPIV3Schema")
		if root == nil {
			return fmt.Errorf("%s:%d: version %s has no schema", w.file, version.Line, name)
		}
		d, err := w.kind(group, name, kind)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", w.file, version.Line, err)
		}
		w.schema(root, d.Name, d, nil)
		w.compare(root)
	}
	return nil
}

// kind returns the type of a kind in a version.
func (t *goTypes) kind(group, version, kind string) (*declaration, error) {
	var found *declaration
	for _, p := range t.named {
		d := p.types[kind]
		if p.group != group || p.version != version || d == nil {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the folders %s and %s both have the type %s of %s/%s", found.in.dir, p.dir, kind, group, version)
		}
		found = d
	}
	if found == nil {
		return nil, fmt.Errorf("no folder has the type %s of %s/%s: its package needs the comment +groupName=%s, "+
			"and the name %s or the comment +versionName=%s",
			kind, group, version, group, version, version)
	}
	return found, nil
}

// compare finds extensions in a schema that no marker wants, or that have another value.
func (w *walk) compare(node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		return
	}
	wanted := w.wanted[node]
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		position := token.Position{Filename: w.file, Line: key.Line}
		switch m := wanted[key.Value]; {
		case key.Value == "properties" && value.Kind == yaml.MappingNode:
			for j := 1; j < len(value.Content); j += 2 {
				w.compare(value.Content[j])
			}
		case !schema.IsPermissionExtension(key.Value):
			w.compare(value)
		case m == nil:
			w.fault(position, "no marker wants %s: run controller-gen first, which removes it", key.Value)
		case written(value) != m.value:
			w.fault(position, "%s is not what the marker at %s wants: run controller-gen first, which removes it",
				key.Value, lineOf(m.position))
		}
	}
	if node.Kind == yaml.SequenceNode {
		for _, element := range node.Content {
			w.compare(element)
		}
	}
}

// lint adds what the server would refuse in a written file to the mistakes. Their place is the marker or, for
// other mistakes, the line of the file before the additions.
func (t *goTypes) lint(f File, wanted map[*yaml.Node]map[string]*marker, additions []Addition) error {
	markers := map[int]token.Position{}
	for node, all := range wanted {
		for extension, m := range all {
			markers[node.Content[keyIndex(node, extension)].Line] = m.position
		}
	}
	findings, _, err := lint.File(f.Name, f.Data)
	if err != nil {
		return err
	}
	for _, finding := range findings {
		if finding.Level != lint.Error {
			continue
		}
		position, ok := markers[finding.Line]
		if !ok {
			position = token.Position{Filename: f.Name, Line: finding.Line}
			for i, a := range additions {
				if a.Line+i+1 < finding.Line {
					position.Line--
				}
			}
		}
		t.fault(position, "%s: %s", finding.Object, finding.Message)
	}
	return nil
}

// text returns the value of a YAML node.
func text(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	return strings.TrimSpace(node.Value)
}
