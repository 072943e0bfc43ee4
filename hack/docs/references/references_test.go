// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a small repository, by path, whose document has no broken references.
var repository = map[string]string{
	"test/integration/testdata/script/attack_a.txtar": "# Attack: a\n",
	"test/integration/attack_test.go":                 "package integration\n\nfunc TestAttacks(t *testing.T) {}\n\nfunc FuzzIt(f *testing.F) {}\n",
	"patches/core/0001-seam.patch":                    "",
	"pkg/a/a.go":                                      "package a\n",
	"docs/adr/0001-one.md":                            "# 0001: One\n\nTestGone and `pkg/gone` were there, see [other](../other.md#a-heading-with-code).\n",
	"docs/other.md":                                   "# Other\n\n## A heading, with `code`\n\n```sh\n# no heading\n[no](link)\n```\n\n## Twice\n\n## Twice\n",
}

const good = "TestAttacks, integration.TestAttacks, FuzzIt, attack_a, attack_test; `pkg/a/a.go`, `pkg/{a,a}`, `./pkg/...`, `pkg/a -x`, `pkg/*/a.go`, " +
	"`core/0001`, core/0001-seam, `example.com/gone`, `upstream/gone`; [a](docs/other.md), [b](docs/other.md#twice-1), [c](#here), [d](https://example.com/gone), `[e](gone)`.\n\n# Here\n"

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ text, says string }{
		"all of it exists":       {text: good},
		"a test":                 {"TestGone", "README.md:1: there is no test TestGone"},
		"a test of a package":    {"attack.TestAttacks", "README.md:1: there is no test attack.TestAttacks"},
		"a fuzzer":               {"FuzzGone", "there is no test FuzzGone"},
		"a script":               {"\n\nin attack_gone", "README.md:3: there is no script attack_gone"},
		"a patch":                {"`core/0002`", "there is no patch core/0002"},
		"a patch by its subject": {"core/0001-other", "there is no patch core/0001-other"},
		"a file":                 {"`pkg/a/b.go`", "there is no pkg/a/b.go"},
		"a folder":               {"`pkg/b/...`", "there is no pkg/b"},
		"one of a list":          {"`pkg/{a,b}/a.go`", "there is no pkg/b/a.go"},
		"a pattern":              {"`pkg/*/b.go`", "there is no pkg/*/b.go"},
		"a linked file":          {"[a](docs/gone.md)", "the link docs/gone.md is broken: there is no docs/gone.md"},
		"a linked heading": {"[a](docs/other.md#gone)",
			"the link docs/other.md#gone is broken: docs/other.md has no such heading"},
		"a heading in a block":  {"[a](docs/other.md#no-heading)", "has no such heading"},
		"one heading too many":  {"[a](docs/other.md#twice-2)", "has no such heading"},
		"a heading of its own":  {"[a](#gone)", "the link #gone is broken: README.md has no such heading"},
		"an example of another": {"`hack/update-vendor.sh`", "there is no hack/update-vendor.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(repository)
			files["README.md"] = tc.text
			err := Check(lay(t, files))
			switch {
			case tc.says == "" && err != nil:
				t.Error(err)
			case tc.says != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.says)):
				t.Errorf("the error is %v, want %s", err, tc.says)
			}
		})
	}
}

// TestRecords holds that the links of a decision record are checked, and the names in its text are
// not.
func TestRecords(t *testing.T) {
	files := maps.Clone(repository)
	files["docs/adr/0001-one.md"] += "[gone](0002-gone.md)\n"
	const want = "docs/adr/0001-one.md:4: the link 0002-gone.md is broken: there is no docs/adr/0002-gone.md"
	if err := Check(lay(t, files)); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestRepository holds that the documents of this repository have no broken references.
func TestRepository(t *testing.T) {
	if err := Check(filepath.Join("..", "..", "..")); err != nil {
		t.Error(err)
	}
}

func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
