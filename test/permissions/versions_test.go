// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/hack/permissions/served"
	"kube-granular.dev/hack/permissions/vocabulary"
)

// chains maps each path that has a permission to the permissions that cover it, with their
// parameters, from the most general to the most specific.
func chains(tree *schema.Tree) map[string][]string {
	out := map[string][]string{}
	for place := range tree.NodePaths() {
		n := place.Node()
		if !n.Carries() {
			continue
		}
		for _, p := range n.Chain() {
			out[place.Pattern()] = append(out[place.Pattern()], permissionOf(p))
		}
	}
	return out
}

// permissionOf returns the name of a permission with its parameter.
func permissionOf(p *schema.Permission) string {
	if p.Parameter == nil {
		return p.Name
	}
	return p.Name + "(" + strings.TrimSpace(string(p.Parameter.Treatment)+" "+p.Parameter.Source) + ")"
}

// names returns all permissions of a kind, sorted.
func names(tree *schema.Tree) []string {
	var out []string
	for _, info := range tree.Permissions() {
		out = append(out, permissionOf(info.Permission))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestVersionsAgree checks that a field has the same permissions in each version of a kind. A
// difference must be listed if only one version has the field. If the field was moved or
// renamed, the other version must have a permission of the same name.
func TestVersionsAgree(t *testing.T) {
	v := load(t)
	used := make([]bool, len(v.Differences))
	pairs := 0
	for _, a := range kinds {
		for _, b := range kinds {
			if a.Group != b.Group || a.Kind != b.Kind || a.Version == b.Version {
				continue
			}
			pairs++
			theirs := chains(b.Tree)
			for path, own := range chains(a.Tree) {
				other, there := theirs[path]
				if there {
					if !slices.Equal(other, own) {
						t.Errorf("%s: %s is covered by %q, in %s by %q", a.ID(), path, own, b.Version, other)
					}
					continue
				}
				listed := difference(v, used, a, path)
				last := own[len(own)-1]
				switch {
				case listed == nil:
					t.Errorf("%s: %s is covered by %q, in %s it is not, and the difference is not listed", a.ID(), path, own, b.Version)
				case exists(b, path):
					t.Errorf("%s: %s is covered by %q; %s has the field without the permission", a.ID(), path, own, b.Version)
				case !listed.Absent && !slices.Contains(names(b.Tree), last):
					t.Errorf("%s: %s moved, and %s has %q nowhere", a.ID(), path, b.Version, last)
				}
			}
		}
	}
	if pairs == 0 {
		t.Error("no kind is served in two versions")
	}
	for i, d := range v.Differences {
		if !used[i] {
			t.Errorf("difference %s %s %s is listed and does not exist", d.Version, d.Kind, d.Path)
		}
	}
}

func difference(v *vocabulary.Vocabulary, used []bool, k served.Kind, path string) *vocabulary.Difference {
	for i, d := range v.Differences {
		if d.Kind == k.GroupKind().String() && d.Version == k.Version && d.Path == path {
			used[i] = true
			return &v.Differences[i]
		}
	}
	return nil
}

// exists reports whether the schema of a kind has a field at a path pattern such as
// .spec.devices[*].taints.
func exists(k served.Kind, pattern string) bool {
	c := k.Tree.Schema()
	for _, step := range strings.Split(strings.TrimPrefix(pattern, "."), ".") {
		field, elem := strings.CutSuffix(step, "[*]")
		if !c.Has(field) {
			return false
		}
		if c = c.Field(field); elem && !c.IsKey("any") {
			c = c.Elem()
		} else if elem {
			c = c.Field("any")
		}
	}
	return true
}

// TestTwins checks kinds that exist in two groups, such as a group's successor: both must have
// the same permissions, whatever the names of their fields.
func TestTwins(t *testing.T) {
	byID := map[string]served.Kind{}
	for _, k := range kinds {
		byID[k.ID()] = k
	}
	for _, twins := range load(t).Twins {
		for _, id := range twins {
			if byID[id].Tree == nil {
				t.Fatalf("%s is not served", id)
			}
			if want, got := names(byID[twins[0]].Tree), names(byID[id].Tree); !slices.Equal(want, got) {
				t.Errorf("%s has %q, %s has %q", twins[0], want, id, got)
			}
		}
	}
}
