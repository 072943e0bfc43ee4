// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/markers"
)

// parseMarkers reads a file of markers, which lists permissions by the names of types and fields.
func parseMarkers(name string, raw []byte) (*Patch, error) {
	f, err := markers.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	h := Header{Subject: f.Subject, Body: strings.Trim(f.Reason, "\n"), fixed: true, Trailers: []Trailer{
		{"Carry", f.Carry}, {"Upstream", f.Upstream}, {"Forwarded", f.Forwarded}, {"Seam", f.Seam}, {"Drop-When", f.DropWhen},
	}}
	for _, test := range f.TestedBy {
		h.Trailers = append(h.Trailers, Trailer{"Tested-By", test})
	}
	return &Patch{Name: name, Header: h, Markers: f, Raw: raw}, nil
}

// Mark applies a file of markers to a state, and returns the new state. It writes all markers that
// it can write, and returns a problem for each other marker. If a marker belongs into a file that
// the state before does not contain, Mark reads that file from src. base holds the pristine
// content of all files that Mark read from src and changed.
func (p *Patch) Mark(before State, src Sources) (after, base State, problems []error, err error) {
	after, base = maps.Clone(before), State{}
	for _, pkg := range slices.Sorted(maps.Keys(p.Markers.Packages)) {
		report := func(err error) { problems = append(problems, each(p.Name+": "+pkg, err)...) }
		files, err := readPackage(pkg, after, src)
		if err != nil {
			return nil, nil, nil, err
		}
		missing := maps.Clone(p.Markers.Packages[pkg])
		for _, file := range slices.Sorted(maps.Keys(files)) {
			content := files[file]
			declared, err := markers.Declared(file, content.Data)
			if err != nil {
				report(err)
				continue
			}
			types := map[string]markers.Type{}
			for _, typ := range declared {
				if t, ok := missing[typ]; ok {
					types[typ] = t
					delete(missing, typ)
				}
			}
			if len(types) == 0 {
				continue
			}
			if _, ok := after[file]; !ok {
				base[file] = content
			}
			data, err := markers.Write(file, content.Data, types)
			if err != nil {
				report(err)
			}
			content.Data = data
			after[file] = content
		}
		for _, typ := range slices.Sorted(maps.Keys(missing)) {
			report(fmt.Errorf("there is no type %s", typ))
		}
	}
	return after, base, problems, nil
}

// Unmark returns the content of one file without the markers that Mark has written into it.
func (p *Patch) Unmark(file string, data []byte) ([]byte, error) {
	for _, pkg := range slices.Sorted(maps.Keys(p.Markers.Packages)) {
		if markers.Dir(pkg) != path.Dir(file) {
			continue
		}
		data, err := markers.Remove(file, data, p.Markers.Packages[pkg])
		return data, errors.Join(each(p.Name+": "+pkg, err)...)
	}
	return data, nil
}

// Roots returns a problem for each field at the top level of an API kind, such as spec, that has
// neither a permission nor an exemption. It checks only the packages for which a file of markers
// has an entry. final is the state after all patches.
func (s *Series) Roots(final State, src Sources) (problems []error, err error) {
	exempt := map[string]map[string]map[string]string{}
	for _, p := range s.Patches {
		if p.Markers == nil {
			continue
		}
		for pkg, types := range p.Markers.Packages {
			if exempt[pkg] == nil {
				exempt[pkg] = map[string]map[string]string{}
			}
			for typ, t := range types {
				if exempt[pkg][typ] == nil {
					exempt[pkg][typ] = map[string]string{}
				}
				maps.Copy(exempt[pkg][typ], t.Exempt)
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(exempt)) {
		files, err := readPackage(pkg, final, src)
		if err != nil {
			return nil, err
		}
		texts := map[string][]byte{}
		for file, content := range files {
			texts[file] = content.Data
		}
		problems = append(problems, each(pkg, markers.Roots(texts, exempt[pkg]))...)
	}
	return problems, nil
}

// readPackage returns the Go files of a package that can declare types with markers, so no tests
// and no generated files. The content of a file is that in the state. If the state does not
// contain the file, the content is that of upstream.
func readPackage(pkg string, state State, src Sources) (State, error) {
	dir := markers.Dir(pkg)
	listed, err := src.List(dir)
	if err != nil {
		return nil, err
	}
	for file := range state {
		if path.Dir(file) == dir {
			listed = append(listed, file)
		}
	}
	files := State{}
	for _, file := range listed {
		content, ok := state[file]
		if !ok && !strings.HasSuffix(file, ".go") {
			continue
		}
		if !ok {
			if content, err = src.Read(file); err != nil {
				return nil, err
			}
		}
		if !content.Absent && markers.Readable(file, content.Data) {
			files[file] = content
		}
	}
	return files, nil
}

// each splits a joined error into its parts, and puts the prefix place in front of each part.
func each(place string, err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, each(place, e)...)
		}
		return all
	}
	return []error{fmt.Errorf("%s: %w", place, err)}
}
