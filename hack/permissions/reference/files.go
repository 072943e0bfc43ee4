// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"kube-granular.dev/hack/permissions/served"
	"kube-granular.dev/hack/permissions/vocabulary"
)

// File is one generated file.
type File struct {
	// Path is relative to the root of the repository.
	Path    string
	Content []byte
}

// Files returns all files that are generated from the kinds.
func Files(kinds []served.Kind) ([]File, error) {
	v, err := vocabulary.Load()
	if err != nil {
		return nil, err
	}
	r, err := NewRegistry(kinds, v)
	if err != nil {
		return nil, err
	}
	data, err := YAML(r)
	if err != nil {
		return nil, err
	}
	page, err := Markdown(r, v)
	if err != nil {
		return nil, err
	}
	return []File{
		{Path: "staging/src/kube-granular.dev/granular/registry/permissions.yaml", Content: data},
		{Path: "docs/permissions.md", Content: page},
	}, nil
}
