// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLintFiles holds the findings in each file of testdata. A comment "# want: TEXT" in a line is
// the text of the finding for this line.
func TestLintFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, line := range strings.Split(string(data), "\n") {
			_, wanted, ok := strings.Cut(line, "# want: ")
			if !ok {
				continue
			}
			for _, w := range strings.Split(wanted, " # ") {
				want = append(want, atLine(i+1, w))
			}
		}
		found, looked, err := File(file, data)
		if err != nil || looked == 0 {
			t.Errorf("%s: %d objects: %v", file, looked, err)
		}
		var got []string
		for _, f := range found {
			got = append(got, atLine(f.Line, f.Level+": "+f.Message))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
}

func atLine(line int, text string) string { return fmt.Sprint(line, ": ", text) }

func TestLintNoYAML(t *testing.T) {
	if _, _, err := File("x", []byte("a: [")); err == nil {
		t.Error("no error for what is no YAML")
	}
	for _, text := range []string{"just a text", "- a\n- b"} {
		if _, _, err := File("x", []byte(text)); err == nil || !strings.Contains(err.Error(), "x:1: not an object of Kubernetes") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, looked, err := File("x", []byte("---\n---\nkind: Pod\n")); err != nil || looked != 0 {
		t.Errorf("%d objects: %v", looked, err)
	}
}

// TestLintNoAliases checks that nothing is hidden behind an alias.
//
// Attack: the rules of a role stand in an alias, and kubectl applies them; or a list has itself as an item
// Answer: a document with an anchor or an alias is an error
func TestLintNoAliases(t *testing.T) {
	for name, text := range map[string]string{
		"rules":      "x: &r [{apiGroups: [apps], resources: [deployments], verbs: ['*']}]\nkind: ClusterRole\nrules: *r\n",
		"verbs":      "x: &v ['*']\nkind: ClusterRole\nrules: [{apiGroups: [apps], resources: [deployments], verbs: *v}]\n",
		"a kind":     "x: &k ClusterRole\nkind: *k\nrules: []\n",
		"a merge":    "x: &m {verbs: ['*']}\nkind: ClusterRole\nrules: [{<<: *m, apiGroups: [apps], resources: [deployments]}]\n",
		"itself":     "&a {kind: List, items: [*a]}\n",
		"an anchor":  "kind: &a ClusterRole\n",
		"the second": "kind: Pod\n---\nkind: List\nitems: &i []\n",
	} {
		if _, _, err := File("x", []byte(text)); err == nil || !strings.Contains(err.Error(), "anchors and aliases are not checked") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLintReportsEveryMistake(t *testing.T) {
	text := "kind: ClusterRole\nrules:\n- apiGroups: ['']\n  resources: [pods]\n  verbs: [get, granular, granular:labels"
	for range 15 {
		text += ", granular:imagee"
	}
	found, _, err := File("x", []byte(text+"]\n"))
	if err != nil || len(found) != 15 {
		t.Errorf("%d findings: %v", len(found), err)
	}
}
