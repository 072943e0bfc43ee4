// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Inputs is the data from which the package decides which generators must run. Paths are relative
// to Kubernetes' root.
type Inputs struct {
	// Modules are the upstream modules, which identify the unpatched sources and generators.
	Modules []string
	// Patches is a hash of the patches to the code of the generators. It is empty if there are
	// none.
	Patches string
	// Changed are the files that the patches change, with nil content for a removed file.
	Changed map[string][]byte
	// Pristine returns the content of a file before the patches, or nil if there is no such file.
	Pristine func(file string) ([]byte, error)
	// Siblings lists the pristine files of a directory.
	Siblings func(dir string) []string
}

// Plan returns, by name, a digest for each generator whose input or whose own code the patches
// change. A digest is a hash of everything that the output depends on. A generator without a
// digest need not run: its output is upstream's.
func (in Inputs) Plan(table []Generator) (map[string]string, error) {
	digests := map[string]string{}
	for _, g := range table {
		digest, active, err := in.digest(g, digests)
		if err != nil {
			return nil, err
		}
		if active {
			digests[g.Name] = digest
		}
	}
	return digests, nil
}

// Digest returns the digest of a generator, as Plan does, but even if the patches do not change
// its input. digests are the digests of the generators that run before it.
func (in Inputs) Digest(g Generator, digests map[string]string) (string, error) {
	digest, _, err := in.digest(g, digests)
	return digest, err
}

func (in Inputs) digest(g Generator, digests map[string]string) (string, bool, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\n%s\n%s\n", g.Name, g.Version, strings.Join(in.Modules, "\n"), digests[g.After])
	active := false
	if g.Patched && in.Patches != "" {
		active = true
		io.WriteString(h, in.Patches)
	}
	files := make([]string, 0, len(in.Changed))
	for file := range in.Changed {
		files = append(files, file)
	}
	sort.Strings(files)
	for _, file := range files {
		relevant, err := in.relevant(g, file)
		if err != nil {
			return "", false, err
		}
		if !relevant {
			continue
		}
		was, err := in.Pristine(file)
		if err != nil {
			return "", false, err
		}
		before, after := g.Sees(was), g.Sees(in.Changed[file])
		if bytes.Equal(before, after) {
			continue
		}
		active = true
		fmt.Fprintf(h, "%s %d\n%s\n", file, len(after), after)
	}
	return hex.EncodeToString(h.Sum(nil)), active, nil
}

// relevant reports whether a file is part of a generator's input.
func (in Inputs) relevant(g Generator, file string) (bool, error) {
	if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || hidden(file) ||
		slices.ContainsFunc(g.Except, func(p string) bool { return strings.HasPrefix(file, p) }) {
		return false, nil
	}
	if within := slices.ContainsFunc(g.Under, func(p string) bool { return strings.HasPrefix(file, p) }); g.Tag == nil || len(g.Under) > 0 && !within {
		return within, nil
	}
	dir := path.Dir(file)
	files := in.Siblings(dir)
	for changed := range in.Changed {
		if path.Dir(changed) == dir {
			files = append(files, changed)
		}
	}
	for _, f := range files {
		if !strings.HasSuffix(f, ".go") {
			continue
		}
		data, changed := in.Changed[f]
		if !changed {
			var err error
			if data, err = in.Pristine(f); err != nil {
				return false, err
			}
		}
		if tagged(g.Tag, data) {
			return true, nil
		}
	}
	return false, nil
}

// anyTag matches a comment that begins with +k8s:. hack/update-codegen.sh looks for tags only in
// files with such a comment.
var anyTag = regexp.MustCompile(`(?m)^// *\+k8s:`)

func tagged(tag *regexp.Regexp, data []byte) bool {
	return anyTag.Match(data) && tag.Match(data)
}

// hidden reports whether hack/update-codegen.sh ignores a file.
func hidden(file string) bool {
	return strings.Contains(file, "/testdata/") || strings.Contains(file, "/_codegenignore/") || strings.HasPrefix(file, "vendor/")
}
