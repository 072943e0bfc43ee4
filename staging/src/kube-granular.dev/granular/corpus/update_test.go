// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the scenarios expect instead of holding the library to it")

// TestUpdate rewrites the verdicts of all scenarios when asked to. Whoever does so
// must read every line of the difference: the corpus is what the library is
// held to.
func TestUpdate(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	scenarios, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]outcome{}
	files := map[string]bool{}
	for i := range scenarios {
		verdicts[scenarios[i].Name] = run(t, &scenarios[i], false)
		files[scenarios[i].File] = true
	}
	for file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("REWRITING the verdicts of %s", file)
		if err := os.WriteFile(file, []byte(rewrite(string(data), verdicts)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// rewrite replaces the verdict at the end of every scenario.
func rewrite(text string, verdicts map[string]outcome) string {
	blocks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	for i, block := range blocks {
		rest, ok := strings.CutPrefix(block, "- name: ")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "\n")
		var keep []string
		asked := false
		for _, line := range strings.Split(block, "\n") {
			asked = strings.HasPrefix(line, "  asked:") || asked && strings.HasPrefix(line, "  - ")
			verdict := strings.HasPrefix(line, "  decision:") || strings.HasPrefix(line, "  field:") || strings.HasPrefix(line, "  needs:")
			if !asked && !verdict {
				keep = append(keep, line)
			}
		}
		v := verdicts[name]
		keep = append(keep, "  decision: "+string(v.Decision))
		if len(v.Asked) > 0 {
			keep = append(keep, "  asked:")
			for _, verb := range v.Asked {
				keep = append(keep, "  - "+verb)
			}
		}
		if v.Needs != "" {
			keep = append(keep, fmt.Sprintf("  field: '%s'", v.Field), fmt.Sprintf("  needs: '%s'", v.Needs))
		}
		blocks[i] = strings.Join(keep, "\n")
	}
	return strings.Join(blocks, "\n\n") + "\n"
}
