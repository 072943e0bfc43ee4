// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"slices"
	"strings"

	"kube-granular.dev/pkg/cli/ui/model"
)

// find returns the field that covers a path of a kind, such as .spec.replicas, and the path of that field: of a
// field without permissions of its own, it is the nearest one above. It returns nil if there is none.
func find(s *model.Snapshot, k *model.Kind, path string) (*model.Field, string) {
	place, covered, rest := &s.Fields[k.Root], "", path
	for rest != "" {
		next := -1
		for _, i := range place.Fields {
			// Names of fields may have dots, so the longest name that fits counts.
			if step, ok := strings.CutPrefix(rest, stepOf(s.Fields[i].Name)); ok && (step == "" || step[0] == '.' || step[0] == '[') &&
				(next < 0 || len(s.Fields[i].Name) > len(s.Fields[next].Name)) {
				next = i
			}
		}
		if next < 0 {
			// What is below a field of Rest is not in the snapshot. It is covered as the field is.
			known := slices.ContainsFunc(place.Rest, func(name string) bool { return within(rest, stepOf(name)) })
			if !known && (covered == "" || len(place.Fields)+len(place.Rest) > 0) {
				return nil, ""
			}
			return place, covered + rest
		}
		step := stepOf(s.Fields[next].Name)
		place, covered, rest = &s.Fields[next], covered+step, rest[len(step):]
	}
	return place, covered
}

// stepOf returns a name as it stands in a path.
func stepOf(name string) string {
	if strings.HasPrefix(name, "[") {
		return name
	}
	return "." + name
}

// firstOf returns the first name of a path.
func firstOf(path string) string {
	path = strings.TrimPrefix(path, ".")
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}

// pathsOf returns the paths of all fields of a kind at which a verb is declared: what it covers.
func pathsOf(s *model.Snapshot, k *model.Kind, verb int) []string {
	var out []string
	var walk func(index int, path string)
	walk = func(index int, path string) {
		f := &s.Fields[index]
		if index != k.Root {
			path += stepOf(f.Name)
		}
		if slices.Contains(f.Own, verb) {
			out = append(out, path)
			return
		}
		for _, below := range f.Fields {
			walk(below, path)
		}
	}
	walk(k.Root, "")
	return out
}

// withParameter writes a parameter into a path, in place of the element that it selects.
func withParameter(path, parameter string) string {
	if place := strings.LastIndex(path, "[*]"); parameter != "" && place >= 0 {
		return path[:place] + "[" + parameter + "]" + path[place+len("[*]"):]
	}
	return path
}
