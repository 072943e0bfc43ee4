// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"os"
	"strings"
)

// Rewrite replaces expected results in the files of the scenarios, and returns the names of all
// these files. outcomes has the new result for each scenario name; other scenarios stay as they
// are. A person must review every changed line, because the corpus defines the behaviour of the
// library.
func Rewrite(scenarios []Scenario, outcomes map[string]Outcome) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	for i := range scenarios {
		file := scenarios[i].File
		if seen[file] {
			continue
		}
		seen[file] = true
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(rewrite(string(data), outcomes)), 0o644); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// rewrite replaces the expected result at the end of every scenario that has an outcome.
func rewrite(text string, outcomes map[string]Outcome) string {
	blocks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	for i, block := range blocks {
		rest, ok := strings.CutPrefix(block, "- name: ")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "\n")
		o, ok := outcomes[name]
		if !ok {
			continue
		}
		var keep []string
		asked := false
		for _, line := range strings.Split(block, "\n") {
			asked = strings.HasPrefix(line, "  asked:") || asked && strings.HasPrefix(line, "  - ")
			verdict := strings.HasPrefix(line, "  decision:") || strings.HasPrefix(line, "  field:") || strings.HasPrefix(line, "  needs:")
			if !asked && !verdict {
				keep = append(keep, line)
			}
		}
		keep = append(keep, "  decision: "+string(o.Decision))
		if len(o.Asked) > 0 {
			keep = append(keep, "  asked:")
			for _, verb := range o.Asked {
				keep = append(keep, "  - "+verb)
			}
		}
		if o.Needs != "" {
			keep = append(keep, fmt.Sprintf("  field: '%s'", o.Field), fmt.Sprintf("  needs: '%s'", o.Needs))
		}
		blocks[i] = strings.Join(keep, "\n")
	}
	return strings.Join(blocks, "\n\n") + "\n"
}
