// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// started lists the documents to run besides the tutorials and the README, each with the flags
// of the server that it needs.
var started = map[string][]string{
	"authorizers.md":        nil,
	"role-tests.md":         nil,
	"selected-authority.md": {"--feature-gates", "SelectedAuthority=true"},
}

// read returns the content of a file below docs.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTutorials runs, as a reader would, the commands of every tutorial, of the README and of
// the documents in started.
func TestTutorials(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob(filepath.Join(root, "docs", "tutorials", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) == 0 {
		t.Fatal("there are no tutorials")
	}
	for name := range started {
		documents = append(documents, filepath.Join(root, "docs", name))
	}
	for _, document := range append(documents, filepath.Join(root, "README.md")) {
		t.Run(filepath.Base(document), func(t *testing.T) {
			run(t, document)
		})
	}
}

// makeUp matches the command with which a document starts its cluster, if the command has
// flags.
var makeUp = regexp.MustCompile(`(?m)^make up UP_ARGS="(.*)"$`)

// upArguments returns the flags with which a document starts its cluster.
func upArguments(document string) []string {
	found := makeUp.FindStringSubmatch(document)
	if found == nil {
		return nil
	}
	return strings.Fields(found[1])
}

// inPlace returns the server flags of a document. Where a flag names a file of the document,
// inPlace writes that file into dir and replaces its name by the path there. A file in the directory of the
// cluster, which does not exist yet, gets a place elsewhere; newReader links it.
func inPlace(t *testing.T, dir string, steps []step, arguments []string) []string {
	t.Helper()
	var out []string
	for _, argument := range arguments {
		if name, ok := strings.CutPrefix(argument, clusterDir+"/"); ok {
			argument = filepath.Join(t.TempDir(), name)
		}
		for _, s := range steps {
			if s.file != "" && s.file == argument {
				argument = filepath.Join(dir, s.file)
				if err := os.WriteFile(argument, []byte(s.content), 0o600); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		out = append(out, argument)
	}
	return out
}

func run(t *testing.T, document string) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	commands := 0
	for _, s := range steps {
		if s.command != "" {
			commands++
		}
	}
	if commands == 0 {
		t.Fatalf("%s shows no command", document)
	}
	dir := t.TempDir()
	arguments := append(upArguments(string(text)), started[filepath.Base(document)]...)
	arguments = inPlace(t, dir, steps, arguments)
	c := harness.Start(t, arguments...)
	r := newReader(t, c, dir, arguments)
	for _, s := range steps {
		s.await(t)
		if err := r.do(s); err != nil {
			t.Fatalf("%s: %v", document, err)
		}
	}
}
