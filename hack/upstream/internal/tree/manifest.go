// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"kube-granular.dev/hack/upstream/internal/project"
)

// format is increased when the tool can no longer read an older manifest.
const format = 1

// Gone is the sum of a file that does not exist.
const Gone = "-"

// Entry describes a file as the tool last wrote it.
type Entry struct {
	Size int64 `json:"s"`
	// Time is the modification time in nanoseconds.
	Time int64 `json:"t"`
	// Sum is the SHA-256 of the content. It is Gone if a patch removed the file.
	Sum string `json:"h"`
	// Pristine is the sum of upstream's file. It is empty if it equals Sum, and Gone if upstream does
	// not have the file.
	Pristine string `json:"p,omitempty"`
}

// PristineSum returns the sum of upstream's file, or Gone if upstream does not have the file.
func (e Entry) PristineSum() string {
	if e.Pristine != "" {
		return e.Pristine
	}
	return e.Sum
}

// Run is what the manifest stores about the last run of a generator.
type Run struct {
	// Inputs is the digest of everything that the output of the generator depends on.
	Inputs string `json:"inputs"`
	// Outputs are the tree paths of the output files that differ from upstream's files.
	Outputs []string `json:"outputs"`
}

// Manifest records how the tree was made.
type Manifest struct {
	Format int `json:"format"`
	// Inputs is the digest of everything that the tree depends on. It is empty while a
	// run is in progress, and after a run that failed.
	Inputs string `json:"inputs"`
	// Without are the folders of the series that were left out.
	Without []string `json:"without,omitempty"`
	// Modules are the upstream modules, with their versions and sums.
	Modules []string `json:"modules"`
	// Generators are the last runs of the generators, by name.
	Generators map[string]Run `json:"generators,omitempty"`
	// Pending are the sums of the files that the run in progress writes, by tree path.
	Pending map[string]string `json:"pending,omitempty"`
	// Running is the name of the generator that is running.
	Running string `json:"running,omitempty"`
	// Files are all files of the tree, by tree path.
	Files map[string]Entry `json:"files"`

	path  string
	saved bool
}

// LoadManifest reads the manifest of a project. It returns an empty one before the first run,
// and if another version of the tool wrote the manifest in another format.
func LoadManifest(p project.Project) (*Manifest, error) {
	m := &Manifest{path: p.Path(project.Manifest)}
	data, err := os.ReadFile(m.path)
	if err == nil {
		if err := json.Unmarshal(data, m); err != nil {
			return nil, fmt.Errorf("%s: %w: remove the upstream folder and start again", project.Manifest, err)
		}
		m.saved = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if m.Format != format {
		*m = Manifest{Format: format, path: m.path}
	}
	if m.Files == nil {
		m.Files = map[string]Entry{}
	}
	if m.Generators == nil {
		m.Generators = map[string]Run{}
	}
	return m, nil
}

// Exists reports whether the manifest was read from a file or has been saved.
func (m *Manifest) Exists() bool { return m.saved }

// Save writes the manifest, atomically.
func (m *Manifest) Save() error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := writeAtomic(m.path, append(data, '\n'), 0o644); err != nil {
		return err
	}
	m.saved = true
	return nil
}
