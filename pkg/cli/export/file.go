// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/manifest"
	"kube-granular.dev/pkg/cli/roles"
)

// width is the length of a line of the header.
const width = 118

// Write writes the result as a YAML file whose header has the limits. command is the command that does it, and server the version
// of the server.
func (r *Result) Write(out io.Writer, command, server string) error {
	lines := []string{
		"Written by " + command + " for a server of version " + server + ".",
		"These policies and ordinary roles stand in for granular roles on a server that does not authorize fields. They are weaker:",
	}
	for _, limit := range slices.Concat(Limits, r.Limits) {
		lines = append(lines, "- "+limit)
	}
	for _, note := range r.Notes {
		lines = append(lines, "Note: "+note+".")
	}
	lines = append(lines, "The policies come first: apply them and their bindings alone by kubectl apply -l "+managed+"="+manager+
		", and all if that does not fail. A server uses a policy a moment after it is written.")
	for _, line := range lines {
		if err := comment(out, line); err != nil {
			return err
		}
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	var all []any
	for _, d := range documents {
		all = append(all, d)
	}
	return printing.YAML(out, all...)
}

// comment writes a text as lines of comments.
func comment(out io.Writer, text string) error {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width-len("# ") {
			if err := printing.Comment(out, line); err != nil {
				return err
			}
			line = " "
			if !strings.HasPrefix(text, "- ") {
				line = ""
			}
		}
		line = strings.TrimPrefix(line+" "+word, " ")
		if strings.HasPrefix(text, "- ") && !strings.HasPrefix(line, "-") {
			line = "  " + strings.TrimSpace(line)
		}
	}
	return printing.Comment(out, line)
}

func (r *Result) documents() ([]map[string]any, error) {
	var out []map[string]any
	for _, o := range r.Objects {
		document, err := roles.Content(o)
		if err != nil {
			return nil, err
		}
		delete(document, "status")
		out = append(out, document)
	}
	return out, nil
}

// Differences returns what differs between the result and a file that was written earlier, sorted.
func (r *Result) Differences(file string, data []byte) ([]string, error) {
	name := func(o map[string]any) string {
		meta, _ := o["metadata"].(map[string]any)
		text := fmt.Sprint(meta["name"])
		if namespace, ok := meta["namespace"].(string); ok {
			text = namespace + "/" + text
		}
		return fmt.Sprintf("%v %s", o["kind"], text)
	}
	there := map[string]map[string]any{}
	if err := manifest.Each(file, data, func(o *manifest.Object) error {
		var content map[string]any
		if err := json.Unmarshal(o.JSON, &content); err != nil {
			return err
		}
		there[name(content)] = content
		return nil
	}); err != nil {
		return nil, err
	}
	documents, err := r.documents()
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, d := range documents {
		known, ok := there[name(d)]
		switch {
		case !ok:
			out[name(d)+" is missing"] = true
		case !reflect.DeepEqual(known, d):
			out[name(d)+" would be another now"] = true
		}
		delete(there, name(d))
	}
	for left := range there {
		out[left+" is not needed any more"] = true
	}
	return slices.Sorted(maps.Keys(out)), nil
}
