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

// packages returns the packages of a file of markers. A mail patch has none.
func (p *Patch) packages() map[string]map[string]markers.Type {
	if p.Markers == nil {
		return nil
	}
	return p.Markers.Packages
}

// within returns the files of a package.
func within(files map[string][]byte, pkg string) map[string][]byte {
	some := maps.Clone(files)
	maps.DeleteFunc(some, func(file string, _ []byte) bool { return path.Dir(file) != markers.Dir(pkg) })
	return some
}

// Dirs returns the folders of the packages that files of markers name.
func Dirs(patches ...*Patch) []string {
	dirs := map[string]bool{}
	for _, p := range patches {
		for pkg := range p.packages() {
			dirs[markers.Dir(pkg)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// Mark applies a file of markers to sources, the Go files of packages that can declare types with markers, and returns
// the new contents of the files that it changes. It writes all markers that it can write, and returns a problem for each other marker.
func (p *Patch) Mark(sources map[string][]byte) (changed map[string][]byte, problems []error) {
	changed = map[string][]byte{}
	for _, pkg := range slices.Sorted(maps.Keys(p.Markers.Packages)) {
		report := func(err error) { problems = append(problems, each(p.Name+": "+pkg, err)...) }
		files, missing := within(sources, pkg), maps.Clone(p.Markers.Packages[pkg])
		for _, file := range slices.Sorted(maps.Keys(files)) {
			declared, err := markers.Declared(file, files[file])
			report(err)
			if !slices.ContainsFunc(declared, func(typ string) bool { _, ok := missing[typ]; return ok }) {
				continue
			}
			data, err := markers.Write(file, files[file], missing)
			report(err)
			if string(data) != string(files[file]) {
				changed[file] = data
			}
			for _, typ := range declared {
				delete(missing, typ)
			}
		}
		for _, typ := range slices.Sorted(maps.Keys(missing)) {
			report(fmt.Errorf("there is no type %s", typ))
		}
	}
	return changed, problems
}

// Unmark returns the content of one file without the markers that Mark has written into it.
func (p *Patch) Unmark(file string, data []byte) ([]byte, error) {
	return p.rewrite(file, data, markers.Remove)
}

// Remark returns the content of one file with the markers that Mark writes into it.
func (p *Patch) Remark(file string, data []byte) ([]byte, error) {
	return p.rewrite(file, data, markers.Write)
}

func (p *Patch) rewrite(file string, data []byte, change func(string, []byte, map[string]markers.Type) ([]byte, error)) ([]byte, error) {
	for pkg, types := range p.packages() {
		if markers.Dir(pkg) == path.Dir(file) {
			data, err := change(file, data, types)
			return data, errors.Join(each(p.Name+": "+pkg, err)...)
		}
	}
	return data, nil
}

// Roots returns a problem for each field at the top level of an API kind, such as spec, that has neither a
// permission nor an exemption. It checks only the packages for which a file of markers has an entry. sources
// are their files after all patches.
func Roots(patches []*Patch, sources map[string][]byte) (problems []error) {
	exempt := map[string]map[string]map[string]string{}
	for _, p := range patches {
		for pkg, types := range p.packages() {
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
		problems = append(problems, each(pkg, markers.Roots(within(sources, pkg), exempt[pkg]))...)
	}
	return problems
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
