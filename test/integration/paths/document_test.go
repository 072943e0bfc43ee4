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

var update = flag.Bool("update", false, "write the table of paths in docs/threat-model.md anew")

const (
	begin = "<!-- paths: begin, written by test/integration/paths -->\n"
	end   = "<!-- paths: end -->\n"
)

// document compares the verdicts with the table in the threat model.
func document(t *testing.T, verdicts map[path]string) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "threat-model.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s does not hold the lines %q and %q", file, begin, end)
	}
	now := table(verdicts)
	if now == old {
		return
	}
	if !*update {
		t.Errorf("the table of docs/threat-model.md is not what the server does; look at each line and run\n"+
			"\tgo test ./test/integration/paths -update\n%s", cmp.Diff(old, now))
		return
	}
	if err := os.WriteFile(file, []byte(before+begin+now+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("UPDATED the table of docs/threat-model.md. Review it; this run does not count as passed.\n%s", cmp.Diff(old, now))
}

// table has one line for each resource or subresource, with the versions that agree.
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
		strings.Join(out, "") + "\n"
}
