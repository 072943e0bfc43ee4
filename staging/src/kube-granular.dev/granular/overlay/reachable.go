// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// maxReachable limits the paths that alsoReachable returns, and the depth to which it looks.
const maxReachable = 32

// alsoReachable returns the paths, other than that of the entry with index i, at which the kind has
// the definition through which that path leads, or its twin, followed by the rest of the path. Paths of entries
// with the same permission are left out.
func alsoReachable(root schema.Cursor, e *Entries, i int, r resolution) []string {
	if r.definition == "" {
		return nil
	}
	f := &e.Fields[i]
	s := search{definition: r.definition, rest: f.Path[r.origin:]}
	s.known = func(p Path) bool {
		return slices.ContainsFunc(e.Fields, func(o Field) bool {
			return o.Excluded && o.Permission == f.Permission && slices.Equal(o.Path, p)
		})
	}
	s.below(root, nil)
	return s.found
}

// twins are definitions of which fields of the same name mean the same: a container counts before its pod.
var twins = map[string]string{
	"io.k8s.api.core.v1.Container":          "io.k8s.api.core.v1.EphemeralContainer",
	"io.k8s.api.core.v1.EphemeralContainer": "io.k8s.api.core.v1.Container",
	"io.k8s.api.core.v1.PodSecurityContext": "io.k8s.api.core.v1.SecurityContext",
	"io.k8s.api.core.v1.SecurityContext":    "io.k8s.api.core.v1.PodSecurityContext",
}

// search looks for the places of a definition.
type search struct {
	definition string
	rest       Path
	known      func(Path) bool
	// entered are the definitions on the way.
	entered []string
	found   []string
}

func (s *search) below(c schema.Cursor, path Path) {
	if len(path) >= MaxSteps || len(s.found) >= maxReachable {
		return
	}
	for _, name := range c.Names() {
		if len(path) == 0 && (name == "metadata" || name == "status") {
			continue // no entry for a built-in kind is there, apart from two fields of metadata
		}
		s.at(c.Field(name), append(path, Step{Name: name}))
	}
	if elem := c.Elem(); elem.Known() {
		s.at(elem, append(path, Step{Every: true}))
	}
	if values := c.Values(); values.Known() {
		s.at(values, append(path, Step{Every: true}))
	}
}

func (s *search) at(c schema.Cursor, path Path) {
	name := c.Definition()
	if name == s.definition || twins[name] == s.definition && resolve(c, s.rest).reason == "" {
		if whole := slices.Concat(path, s.rest); !s.known(whole) {
			s.found = append(s.found, whole.String())
		}
	}
	if name != "" {
		if slices.Contains(s.entered, name) {
			return
		}
		s.entered = append(s.entered, name)
		defer func() { s.entered = s.entered[:len(s.entered)-1] }()
	}
	s.below(c, path)
}
