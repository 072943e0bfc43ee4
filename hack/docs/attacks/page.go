// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"path"
	"strings"

	"kube-granular.dev/hack/docs/tree"
)

// File is the path of the page.
const File = "docs/generated/attacks.md"

const pageHeader = `<!-- Written by hack/update-docs.sh from the comments of the tests. Don't edit it. -->

# Attacks

This page lists attempts to evade the authorization of single fields, and the server's answers. Each
row comes from a comment in the test that makes the attempt. The test fails if the answer changes. The
[threat model](../threat-model.md) says what is promised to whom, and explains the words of this page.

If an answer begins with **got through; now**, an earlier version of this project allowed the
attempt.

`

// Page returns the page with all attacks of the repository at root.
func Page(root string) ([]byte, error) {
	t, err := tree.Read(root)
	if err != nil {
		return nil, err
	}
	scripts, tests, err := collectSources(root, t)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(pageHeader)
	count := 0
	for _, h := range scripts {
		count += len(h.attacks)
	}
	for _, h := range tests {
		count += len(h.attacks)
	}
	fmt.Fprintf(&b, "There are %d attempts, in %d scripts and %d Go tests.\n", count, len(scripts), len(tests))
	for _, h := range scripts {
		fmt.Fprintf(&b, "\n## %s\n\n", h.name)
		if h.intro != "" {
			fmt.Fprintf(&b, "%s\n\n", h.intro)
		}
		table(&b, t, h)
	}
	for i, h := range tests {
		if i == 0 || path.Dir(tests[i-1].file) != path.Dir(h.file) {
			fmt.Fprintf(&b, "\n## %s\n\n", path.Dir(h.file))
			table(&b, t, inPackage(tests[i:])...)
		}
	}
	return []byte(b.String()), nil
}

// inPackage returns the tests at the beginning of the list that are in the same package as the
// first test.
func inPackage(tests []source) []source {
	n := 1
	for n < len(tests) && path.Dir(tests[n].file) == path.Dir(tests[0].file) {
		n++
	}
	return tests[:n]
}

func table(b *strings.Builder, t *tree.Tree, holders ...source) {
	b.WriteString("| attempt | answer | held by |\n| --- | --- | --- |\n")
	for _, h := range holders {
		for _, a := range h.attacks {
			answer := a.answer
			if a.was != "" {
				answer = "**" + a.was + "; now** " + answer
			}
			links := []string{link(h.name, h.file)}
			for _, name := range a.heldBy {
				file, _ := resolve(t, name) // collectSources has checked that the name exists
				links = append(links, link(name, file))
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", cell(a.attempt), cell(answer), strings.Join(links, ", "))
		}
	}
}

func link(name, file string) string { return "[" + name + "](../../" + file + ")" }

// cell returns a text for a cell of a Markdown table, with | escaped.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
