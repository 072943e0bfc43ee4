// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/test/integration/cluster"
)

var update = flag.Bool("update", false, "write docs/generated/paths.md anew")

// head is the beginning of docs/generated/paths.md, before the table.
const head = `<!-- Written by hack/update-docs.sh from what the server answers. Don't edit it. -->

# Every path that writes

A test walks the API of a server with all APIs and feature gates that can be enabled. On every path that writes, it
sends requests as two callers. One holds the verb "granular" and no
permission. The other also holds the general permissions.

- *verified*: the server compares field by field. The first caller is refused for a field
  that it changed.
- *refused*: there are no fields to compare, or another server has them. Both callers are
  refused before anything happens.

The test fails for a path that is neither. The [threat model](../threat-model.md) says what these paths promise.
`

// document compares the verdicts with docs/generated/paths.md, or rewrites the page with
// -update.
func document(t *testing.T, verdicts map[path]string) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "generated", "paths.md")
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	now := head + table(verdicts)
	if now == string(old) {
		return
	}
	if !*update {
		t.Errorf("docs/generated/paths.md is not what the server does; look at each line and run\n"+
			"\tgo test ./test/integration/paths -update\n%s", cmp.Diff(string(old), now))
		return
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("UPDATED docs/generated/paths.md. Review it; this run does not count as passed.\n%s", cmp.Diff(string(old), now))
}

// table returns a table with one line for each resource or subresource. Versions with equal
// verdicts share a line.
func table(verdicts map[path]string) string {
	type line struct{ group, resource string }
	type cells [3]string
	verbs := []string{"create", "update", "patch"}
	versions := map[line]map[string]cells{}
	for p, verdict := range verdicts {
		l := line{p.Group, p.resource()}
		if versions[l] == nil {
			versions[l] = map[string]cells{}
		}
		c := versions[l][p.Version]
		c[slices.Index(verbs, p.verb)] = verdict
		versions[l][p.Version] = c
	}
	var out []string
	for l, of := range versions {
		if l.group == "" {
			l.group = "(core)"
		}
		same := map[cells][]string{}
		for version, c := range of {
			same[c] = append(same[c], version)
		}
		for c, versions := range same {
			slices.Sort(versions)
			out = append(out, fmt.Sprintf("| %s | %s | %s | %s |\n", l.group, l.resource, strings.Join(versions, " "), strings.Join(c[:], " | ")))
		}
	}
	slices.Sort(out)
	counts := map[string]int{}
	for verdict := range maps.Values(verdicts) {
		counts[verdict]++
	}
	return fmt.Sprintf("\n%d paths are verified, %d refused.\n\n", counts["verified"], counts["refused"]) +
		"| group | resource | versions | create | update | patch |\n| --- | --- | --- | --- | --- | --- |\n" +
		strings.Join(out, "")
}
