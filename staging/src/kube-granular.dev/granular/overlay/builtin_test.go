// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import "testing"

// TestBuiltinTables checks that the tables about built-in kinds can be read, and that each path in them
// is one: the checks parse them again and again.
func TestBuiltinTables(t *testing.T) {
	if len(builtinEffects()) < 35 {
		t.Fatalf("%d versions of resources", len(builtinEffects()))
	}
	parse := func(source string, paths ...string) {
		for _, path := range paths {
			if _, err := ParsePath(path); err != nil {
				t.Errorf("%s %s: %v", source, path, err)
			}
		}
	}
	moved := func(source string, all map[string][]string) {
		for target, sources := range all {
			parse(source, target)
			parse(source, sources...)
		}
	}
	for source, e := range builtinEffects() {
		parse(source, e.Filled...)
		parse(source, e.Lost...)
		moved(source, e.Moved)
	}
	for source, all := range closedPaths {
		for _, c := range all {
			parse(source, c.path)
		}
	}
	for source, all := range aliases {
		moved(source, all)
	}
}
