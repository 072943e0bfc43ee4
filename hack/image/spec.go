// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
)

// spec is an entry of the list: an image for one platform.
type spec struct {
	// Tags are the names of the image, each with a tag, such as registry.k8s.io/pause:3.10. At
	// least one is required.
	Tags []string `json:"tags"`
	// Architecture is a GOARCH value, such as arm64. The OS is always linux.
	Architecture string   `json:"architecture"`
	Entrypoint   []string `json:"entrypoint,omitempty"`
	// Command is what a container runs that names no arguments, behind the entrypoint if there is one.
	Command []string          `json:"command,omitempty"`
	User    string            `json:"user,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Files maps a path in the image to the path of a local file, which is added as an executable.
	Files map[string]string `json:"files"`
	// Root is a local folder whose contents are added to the image below /, before Files.
	Root string `json:"root,omitempty"`
	// Bind lists the paths in Files whose programs may listen on ports below 1024 without being
	// root, as in upstream's image of kube-apiserver (build/server-image).
	Bind []string `json:"bind,omitempty"`
}

// readSpecs reads the list of images. An unknown field is an error.
func readSpecs(input io.Reader) ([]spec, error) {
	decoder := json.NewDecoder(input)
	decoder.DisallowUnknownFields()
	var specs []spec
	if err := decoder.Decode(&specs); err != nil {
		return nil, fmt.Errorf("read the list of images: %w", err)
	}
	if len(specs) == 0 {
		return nil, errors.New("the list of images is empty")
	}
	for i, s := range specs {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
	}
	return specs, nil
}

func (s spec) check() error {
	if len(s.Tags) == 0 {
		return errors.New("tags: at least one is required")
	}
	for _, tag := range s.Tags {
		if _, err := name.NewTag(tag, name.StrictValidation); err != nil {
			return fmt.Errorf("tags: %w", err)
		}
	}
	if s.Architecture == "" {
		return errors.New("architecture: required, such as amd64")
	}
	if len(s.Files) == 0 {
		return errors.New("files: at least one is required")
	}
	for _, path := range s.Bind {
		if _, ok := s.Files[path]; !ok {
			return fmt.Errorf("bind: %s is not in files", path)
		}
	}
	return nil
}
