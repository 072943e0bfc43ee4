// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"
	"testing"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/hack/permissions/vocabulary"
)

// TestEveryRootFieldIsCovered checks that each top-level field of a kind has a permission that
// covers the whole field, or is listed in the vocabulary with a reason. The list must have no
// other fields.
func TestEveryRootFieldIsCovered(t *testing.T) {
	v := load(t)
	if len(kinds) < 90 {
		t.Fatalf("only %d kinds are served", len(kinds))
	}
	used := map[[3]string]bool{}
	for _, k := range kinds {
		fields := k.Fields()
		if !slices.Contains(fields, "metadata") {
			t.Errorf("%s has no metadata", k.ID())
		}
		for _, field := range fields {
			node := k.Tree.Root.Child(field)
			covered := node != nil && node.Carries()
			id := [3]string{k.Group, k.Kind, field}
			listed := isListed(v, id)
			if listed {
				used[id] = true
			}
			switch {
			case covered && listed:
				t.Errorf("%s: .%s is covered by %q, and listed as uncovered", k.ID(), field, node.Last().Name)
			case !covered && !listed:
				t.Errorf("%s: .%s is covered by no permission and not listed", k.ID(), field)
			}
		}
	}
	for _, u := range v.Uncovered {
		for _, kind := range u.Kinds {
			for _, field := range u.Fields {
				if !used[[3]string{u.Group, kind, field}] {
					t.Errorf("%s/%s: .%s is listed as uncovered and not served", u.Group, kind, field)
				}
			}
		}
	}
}

func isListed(v *vocabulary.Vocabulary, id [3]string) bool {
	return slices.ContainsFunc(v.Uncovered, func(u vocabulary.Uncovered) bool {
		return u.Group == id[0] && slices.Contains(u.Kinds, id[1]) && slices.Contains(u.Fields, id[2])
	})
}

func load(t *testing.T) *vocabulary.Vocabulary {
	t.Helper()
	v, err := vocabulary.Load()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNoBuiltInExcludes checks that no built-in kind, nor the metadata of any kind, has an
// excluded permission (one that `update` does not include). Ordinary writes of custom resources
// rely on this. If one is added, pkg/gate must also verify ordinary writes for definitions that
// exclude nothing.
func TestNoBuiltInExcludes(t *testing.T) {
	for _, k := range kinds {
		if k.Tree.HasExcluded() {
			t.Errorf("%s has an excluded permission", k.ID())
		}
	}
}

// TestOneTreatment checks that a permission of a kind takes keys apart at the slash in all its fields, or
// in none. Otherwise its verb for one key would also be a verb for a whole key or value.
func TestOneTreatment(t *testing.T) {
	prefixes := 0
	for _, k := range kinds {
		places := map[string]string{}
		split := map[string]bool{}
		for _, info := range k.Tree.Permissions() {
			if info.Parameter == nil {
				continue
			}
			prefix := info.Parameter.Treatment == permission.SlashDelimitedPrefix
			if place, known := places[info.Name]; known && split[info.Name] != prefix {
				t.Errorf("%s: %s at %s and at %s", k.ID(), info.Name, place, info.Pattern)
			}
			places[info.Name], split[info.Name] = info.Pattern, prefix
			if prefix {
				prefixes++
			}
		}
	}
	if prefixes < len(kinds) {
		t.Errorf("%d permissions of keys in %d kinds", prefixes, len(kinds))
	}
}
