// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kube-granular.dev/api/printing"
)

// written returns a value of a definition as scalar returns it.
func written(node *yaml.Node) string {
	if node.Tag == "!!bool" {
		return node.Value
	}
	return scalar(node.Value)
}

// scalar returns a text as YAML.
func scalar(value string) string {
	out, err := printing.MarshalYAML(value)
	if err != nil {
		return strconv.Quote(value) // a string can always be encoded
	}
	return strings.TrimSuffix(string(out), "\n")
}

// missing returns the wanted extensions that the schemas lack, in the order of the file.
func missing(f File, wanted map[*yaml.Node]map[string]*marker) []Addition {
	lines := strings.Split(string(f.Data), "\n")
	var out []Addition
	for node, all := range wanted {
		for _, extension := range slices.Sorted(maps.Keys(all)) {
			if keyIndex(node, extension) >= 0 || node.Style&yaml.FlowStyle != 0 || len(node.Content) == 0 {
				continue
			}
			m := all[extension]
			out = append(out, Addition{File: f.Name, Line: lineBefore(lines, node, extension), Extension: extension, Value: m.value,
				Marker: lineOf(m.position), indent: node.Content[0].Column - 1})
		}
	}
	slices.SortFunc(out, func(a, b Addition) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(b.indent, a.indent), strings.Compare(a.Extension, b.Extension))
	})
	return out
}

// lineBefore returns the line after which a key belongs in a mapping whose keys are sorted: that before the
// first greater key, or the last line of the mapping.
func lineBefore(lines []string, node *yaml.Node, key string) int {
	for i := 2; i+1 < len(node.Content); i += 2 {
		if next := node.Content[i]; next.Value > key {
			line := next.Line - 1
			for line > node.Line && strings.HasPrefix(lines[line-1], strings.Repeat(" ", next.Column-1)+"#") {
				line-- // a comment belongs to the key below
			}
			return line
		}
	}
	last := node.Content[len(node.Content)-2]
	indent, end := node.Content[0].Column-1, last.Line
	for i := last.Line; i < len(lines); i++ {
		content := strings.TrimLeft(lines[i], " ")
		deep := len(lines[i]) - len(content)
		switch {
		case strings.TrimSpace(content) == "":
		case deep > indent, deep == indent && strings.HasPrefix(content, "- "):
			end = i + 1
		case !strings.HasPrefix(content, "#"):
			return end
		}
	}
	return end
}

// insert returns the text with the additions. Every other byte stays.
func insert(data []byte, additions []Addition) []byte {
	ending := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		ending = "\r\n"
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	var out bytes.Buffer
	for i, line := range lines {
		out.Write(line)
		for len(additions) > 0 && additions[0].Line == i+1 {
			if out.Bytes()[out.Len()-1] != '\n' {
				out.WriteString(ending) // the last line of the file
			}
			a := additions[0]
			fmt.Fprintf(&out, "%s%s: %s%s", strings.Repeat(" ", a.indent), a.Extension, a.Value, ending)
			additions = additions[1:]
		}
	}
	return out.Bytes()
}
