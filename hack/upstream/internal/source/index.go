// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"kube-granular.dev/hack/upstream/internal/progress"
)

// File is one pristine file.
type File struct {
	// Tree is the tree path of the file. Path is its path in the module cache.
	Tree, Path string
	// Sum is the hexadecimal SHA-256 of the content of the file.
	Sum string
}

// Index downloads every module, hashes every file and compares the sum of each module with
// go.sum, so it detects a changed file in the module cache. It returns the files of the tree,
// by tree path.
func (s *Source) Index(ctx context.Context, log *progress.Log) (map[string]File, error) {
	log.Say("fetching %d modules of %s %s from the module cache or GOPROXY", len(s.Modules), Kubernetes, s.Pins.Version)
	if err := s.fetch(ctx, s.Modules...); err != nil {
		return nil, err
	}
	files := map[string]File{}
	step := log.Step("verifying modules against go.sum", len(s.Modules))
	for _, m := range s.Modules {
		if err := s.indexModule(ctx, m, files); err != nil {
			return nil, err
		}
		step.Done()
	}
	step.End()
	return files, nil
}

func (s *Source) indexModule(ctx context.Context, m Module, into map[string]File) error {
	dir := s.dirs[m.Version]
	sums := map[string]string{} // path in the module -> SHA-256
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		sums[filepath.ToSlash(rel)] = ""
		return err
	})
	if err != nil {
		return err
	}
	if err := hashAll(ctx, dir, sums); err != nil {
		return err
	}
	if have := moduleSum(m, sums); m.Sum != "" && have != m.Sum {
		return fmt.Errorf("%s: the files in %s have sum %s, but go.sum has %s: run go clean -modcache", m.Version, dir, have, m.Sum)
	}
	for rel, sum := range sums {
		if !excluded(m, rel) {
			into[m.Prefix+rel] = File{Tree: m.Prefix + rel, Path: filepath.Join(dir, filepath.FromSlash(rel)), Sum: sum}
		}
	}
	return nil
}

// moduleSum returns the "h1:" sum of a module, as "go.sum files" in the Go module reference
// defines it.
func moduleSum(m Module, sums map[string]string) string {
	h := sha256.New()
	for _, rel := range sorted(sums) {
		fmt.Fprintf(h, "%s  %s/%s\n", sums[rel], m.Version, rel)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// hashAll computes the SHA-256 sums of files below dir. The keys of sums are their paths, and
// hashAll sets the values.
func hashAll(ctx context.Context, dir string, sums map[string]string) error {
	names := sorted(sums)
	results := make([]string, len(names))
	work := make(chan int)
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				sum, err := HashFile(filepath.Join(dir, filepath.FromSlash(names[i])))
				if err != nil {
					once.Do(func() { failed = err })
				}
				results[i] = sum
			}
		})
	}
	for i := range names {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	wg.Wait()
	for i, name := range names {
		sums[name] = results[i]
	}
	if failed != nil {
		return failed
	}
	return ctx.Err()
}

// HashFile returns the hexadecimal SHA-256 of a file.
func HashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Hash returns the hexadecimal SHA-256 of a content.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
