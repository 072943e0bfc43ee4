// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/mutants/internal/survivors"
)

// stamp has, by folder, the digest that each target had when all its mutants were tried and the
// target passed. A target with another digest is stale: its mutants must be tried again.
type stamp map[string]string

// readStamp reads a file of lines, each with a digest and a folder. A missing file is empty.
func readStamp(name string) (stamp, error) {
	out := stamp{}
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return out, nil
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		digest, folder, ok := strings.Cut(line, "  ")
		if line != "" && !ok {
			return nil, fmt.Errorf("%s: not a digest and a folder: %q", name, line)
		}
		out[folder] = digest
	}
	return out, err
}

// write writes the file, sorted by folder.
func (s stamp) write(name string) error {
	var b strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s  %s\n", s[folder], folder)
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

// digest returns a digest of what decides the result of a target: its sources, its tests and their
// data, the tests of the packages above, and the mutants of the target in the list of survivors.
// Other packages that the target imports are not part of it.
func (t target) digest(root string, list survivors.List) (string, error) {
	sum := sha256.New()
	add := func(name string) error {
		data, err := os.ReadFile(filepath.Join(root, name))
		fmt.Fprintf(sum, "%s %x\n", filepath.ToSlash(name), sha256.Sum256(data))
		return err
	}
	for _, folder := range append([]string{t.folder}, t.above...) {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			inside, _ := filepath.Rel(folder, name)
			data := strings.HasPrefix(filepath.ToSlash(inside), "testdata/")
			switch {
			case entry.IsDir() && inside != "." && inside != "testdata" && !data:
				return filepath.SkipDir
			case entry.IsDir() || !data && !strings.HasSuffix(name, ".go"):
				return nil
			case folder == t.folder || data || strings.HasSuffix(name, "_test.go"):
				return add(name)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(list.In(t.folder))) {
		fmt.Fprintln(sum, key)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// stale returns those targets that have another digest than the stamp. It begins with another
// target for each seed, so that each target is the first one by turns.
func (s stamp) stale(root string, targets []target, list survivors.List, seed uint64) ([]target, error) {
	var out []target
	for _, t := range targets {
		digest, err := t.digest(root, list)
		if err != nil {
			return nil, err
		}
		if s[t.folder] != digest {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	first := int(seed % uint64(len(out)))
	return append(out[first:], out[:first]...), nil
}
