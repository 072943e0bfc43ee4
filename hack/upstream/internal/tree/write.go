// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
)

// Write writes a file, and adds the file to the manifest. pristine is the sum of upstream's file,
// or Gone if upstream does not have the file.
func (m *Manifest) Write(p project.Project, tree string, data []byte, executable bool, pristine string) error {
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	if err := writeAtomic(p.Path(tree), data, mode); err != nil {
		return err
	}
	return m.Record(p, tree, source.Hash(data), pristine)
}

// Record adds a file that is already on disk to the manifest. The caller knows the sum of its
// content. pristine is the sum of upstream's file, or Gone.
func (m *Manifest) Record(p project.Project, tree, sum, pristine string) error {
	info, err := os.Lstat(p.Path(tree))
	if err != nil {
		return err
	}
	e := Entry{Size: info.Size(), Time: info.ModTime().UnixNano(), Sum: sum}
	if pristine != sum {
		e.Pristine = pristine
	}
	m.Files[tree] = e
	return nil
}

// Remove removes a file and the folders that become empty, and updates the manifest.
func (m *Manifest) Remove(p project.Project, tree, pristine string) error {
	full := p.Path(tree)
	if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := filepath.Dir(full); len(dir) > len(p.Path(project.Upstream)); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil { // not empty
			break
		}
	}
	if pristine == Gone {
		delete(m.Files, tree)
	} else {
		m.Files[tree] = Entry{Sum: Gone, Pristine: pristine}
	}
	return nil
}

// Settle adds a file to the manifest that another program, such as a generator, wrote. If the
// manifest already has the same content, Settle sets the modification time of the file back to the
// time in the manifest, so that the file does not look changed.
func (m *Manifest) Settle(p project.Project, tree, pristine string) error {
	full := p.Path(tree)
	sum, err := source.HashFile(full)
	if err != nil {
		return err
	}
	if e, ok := m.Files[tree]; ok && e.Sum == sum {
		at := time.Unix(0, e.Time)
		if err := os.Chtimes(full, at, at); err != nil {
			return err
		}
	}
	return m.Record(p, tree, sum, pristine)
}

// writeAtomic writes a file. If it is interrupted, the file has either the old or the new
// content, and never a part.
func writeAtomic(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".upstream-*.swp") // this name matches a pattern of stray files, which the tool ignores
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
