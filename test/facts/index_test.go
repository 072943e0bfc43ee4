// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhere lists folders whose pages have an index of their own, which docs/README.md links.
var elsewhere = map[string]string{"adr": "adr/README.md", "measurements": "measurements/"}

// TestIndex checks that docs/README.md, the index of all pages, links every page.
func TestIndex(t *testing.T) {
	index := read(t, "docs", "README.md")
	pages := 0
	err := fs.WalkDir(os.DirFS(filepath.Join(root, "docs")), ".", func(page string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".md" || page == "README.md" {
			return err
		}
		pages++
		link := page
		if folder, _, ok := strings.Cut(page, "/"); ok && elsewhere[folder] != "" {
			link = elsewhere[folder]
		}
		if !strings.Contains(index, "]("+link+")") && !strings.Contains(index, "]("+link+"#") {
			t.Errorf("docs/README.md does not link %s", link)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 20 {
		t.Errorf("only %d pages were found", pages)
	}
}
