// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/tools/txtar"
)

// proxy is a module proxy in a folder, with the modules of the archives in testdata/mod.
type proxy struct {
	dir      string
	archives map[module.Version]*txtar.Archive
	// sums are the lines of go.sum of each module.
	sums map[module.Version]string
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{dir: t.TempDir(), archives: map[module.Version]*txtar.Archive{}, sums: map[module.Version]string{}}
	names, err := filepath.Glob("testdata/mod/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".txtar"), "@")
		p.archives[module.Version{Path: strings.ReplaceAll(path, "_", "/"), Version: version}] = archive
	}
	mods := p.modules()
	// The generators come first, because the go.sum of Kubernetes has their sums.
	sort.SliceStable(mods, func(i, j int) bool { return mods[j].Path == "k8s.io/kubernetes" && mods[i].Path != "k8s.io/kubernetes" })
	for _, m := range mods {
		if err := p.write(m, p.files(m)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *proxy) modules() []module.Version {
	var mods []module.Version
	for m := range p.archives {
		mods = append(mods, m)
	}
	module.Sort(mods)
	return mods
}

// files returns the files of a module, including the files of the module that it is based on.
func (p *proxy) files(m module.Version) map[string][]byte {
	files := map[string][]byte{}
	archive := p.archives[m]
	if base, ok := strings.CutPrefix(strings.TrimSpace(string(archive.Comment)), "over "); ok {
		files = p.files(module.Version{Path: m.Path, Version: base})
	}
	for _, f := range archive.Files {
		data := f.Data
		if bytes.Contains(data, []byte("@SUMS@")) {
			data = []byte(p.gosum("k8s.io/gengo/v2", "k8s.io/kube-openapi"))
		}
		files[f.Name] = data
	}
	return files
}

// gosum returns a go.sum with the sums of all versions of some modules.
func (p *proxy) gosum(paths ...string) string {
	var lines []string
	for m, sum := range p.sums {
		for _, path := range paths {
			if m.Path == path {
				lines = append(lines, sum)
			}
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

func (p *proxy) write(m module.Version, files map[string][]byte) error {
	var names []string
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, data := range files {
		name = m.String() + "/" + name
		names = append(names, name)
		w, err := z.Create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	sum, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files[strings.TrimPrefix(name, m.String()+"/")])), nil
	})
	if err != nil {
		return err
	}
	modSum, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files["go.mod"])), nil
	})
	if err != nil {
		return err
	}
	p.sums[m] = fmt.Sprintf("%s %s %s\n%s %s/go.mod %s\n", m.Path, m.Version, sum, m.Path, m.Version, modSum)
	dir := filepath.Join(p.dir, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for ext, data := range map[string][]byte{
		".info": fmt.Appendf(nil, `{"Version":%q}`, m.Version),
		".mod":  files["go.mod"],
		".zip":  buf.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, m.Version+ext), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
