// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// repository is a small repository with attacks in a script and in a Go test, as a txtar archive.
const repository = `
-- test/integration/testdata/script/attack_a.txtar --
# Lists: their order,
# and their keys.
env A=b

# What is tried.
#
# Attack: a | b
# Answer: 403
# Was: got through
# Held by: other, TestOne, second.TestTwo
send a
(files)
# Attack: of a file that the script carries
-- test/integration/testdata/script/other.txtar --
# Nothing to see.
-- first/a_test.go --
package first

// TestAttackFirst tries.
//
// Attack: by a test
// Answer: 404
func TestAttackFirst(t *testing.T) {}

// TestOne holds.
func TestOne(t *testing.T) {}

func TestTwo(t *testing.T) {}
-- second/a_test.go --
package second

func TestTwo(t *testing.T) {}
-- upstream/a_test.go --
package upstream

func TestAttackUpstream(t *testing.T) {}
`

// lay writes the files of repository to a folder and returns the folder. changes are pairs of an
// old and a new text, as for strings.NewReplacer.
func lay(t *testing.T, changes ...string) string {
	t.Helper()
	root := t.TempDir()
	text := strings.NewReplacer(changes...).Replace(repository)
	for _, file := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(root, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		// The script contains a file of its own. Its marker line would end the script in the outer
		// archive, so the archive has "(files)" in its place.
		data := strings.Replace(string(file.Data), "(files)", "-- a.yaml --", 1)
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPage(t *testing.T) {
	page, err := Page(lay(t))
	if err != nil {
		t.Fatal(err)
	}
	const want = `There are 2 attempts, in 1 scripts and 1 Go tests.

## attack_a

Lists: their order, and their keys.

| attempt | answer | held by |
| --- | --- | --- |
| a \| b | **got through; now** 403 | [attack_a](../../test/integration/testdata/script/attack_a.txtar), [other](../../test/integration/testdata/script/other.txtar), [TestOne](../../first/a_test.go), [second.TestTwo](../../second/a_test.go) |

## first

| attempt | answer | held by |
| --- | --- | --- |
| by a test | 404 | [TestAttackFirst](../../first/a_test.go) |
`
	if got, ok := strings.CutPrefix(string(page), pageHeader); !ok || got != want {
		t.Errorf("the page is\n%s", page)
	}
}

// TestPageFails holds that a missing or wrong description of an attack is an error.
func TestPageFails(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []string
		says    string
	}{
		"a script without an attack": {[]string{"other.txtar", "attack_other.txtar"},
			`attack_other.txtar: the comment "# Attack: …" is missing`},
		"a test without an attack": {[]string{"// Attack: by a test\n// Answer: 404\n", ""},
			`first/a_test.go:5: TestAttackFirst: the doc comment has no paragraph`},
		"a malformed attack of a script": {[]string{"# Answer: 403", "# Anser: 403"},
			`attack_a.txtar: above line 11: attack "a | b": unknown field "Anser"`},
		"a malformed attack of a test": {[]string{"// Answer: 404", "//"},
			`TestAttackFirst: attack "by a test": the field Answer is missing`},
		"an unknown test": {[]string{"TestOne,", "TestNone,"},
			`attack "a | b": there is no test TestNone`},
		"an unknown script": {[]string{"by: other", "by: others"},
			`attack "a | b": there is no script others`},
		"a test of two packages": {[]string{"second.TestTwo", "TestTwo"},
			`TestTwo is ambiguous: first/a_test.go, second/a_test.go`},
		"a test of another package": {[]string{"second.TestTwo", "third.TestTwo"},
			`there is no test third.TestTwo`},
		"a test of upstream's": {[]string{"TestOne,", "TestAttackUpstream,"},
			`there is no test TestAttackUpstream`},
		"one attack twice": {[]string{"by a test", "a | b"},
			`is also in test/integration/testdata/script/attack_a.txtar`},
		"an attack that is no doc": {[]string{"// TestOne holds.\n", "// Attack: lost\n// Answer: none\n\n"},
			`the attack "lost" is not in the doc comment of a test`},
		"code that does not parse": {[]string{"package second", "package"}, `second/a_test.go`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Page(lay(t, tc.changes...))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the error is %v, want %s", err, tc.says)
			}
		})
	}
}

// TestRepository holds that the page of this repository is up to date.
func TestRepository(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	want, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Errorf("%s is stale, run hack/update-docs.sh attacks", File)
	}
}
