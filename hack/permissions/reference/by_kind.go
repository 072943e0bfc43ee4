// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/hack/permissions/vocabulary"
)

// row is one row of a table: a field of a kind with the verbs that cover the field.
type row struct {
	path  string
	verbs []string
	// versions are the versions of the kind that have the field. within is the description of the
	// embedded object that the field contains, such as "the pod template", or "".
	versions []string
	within   string
}

// fieldsByKind returns a table of fields for each kind. The first table has the fields that every
// kind has. An embedded object, such as a pod template, has only one row, with a link to the table
// of its fields.
func fieldsByKind(r *registry.Registry, v *vocabulary.Vocabulary) string {
	verbs := map[string]string{}
	for _, p := range r.Permissions {
		verbs[p.Name] = verb(p)
	}
	versions := map[string][]string{}
	for _, k := range r.Kinds {
		name, version := splitKindID(k.Kind)
		versions[name] = append(versions[name], version)
	}
	everywhere := []row{}
	rows := map[string][]row{}
	for _, p := range r.Permissions {
		if p.Scope != "" && p.Name != p.Scope {
			continue
		}
		for _, place := range p.Places {
			entry := row{path: place.Path, verbs: []string{verbs[p.Name]}, within: v.Scopes[p.Name]}
			for _, above := range slices.Backward(place.Above) {
				entry.verbs = append(entry.verbs, verbs[above])
			}
			if slices.Equal(place.Kinds, []string{registry.All}) {
				everywhere = append(everywhere, entry)
				continue
			}
			found := map[string][]string{}
			for _, id := range place.Kinds {
				name, version := splitKindID(id)
				found[name] = append(found[name], version)
			}
			for name, places := range found {
				entry.versions = places
				rows[name] = append(rows[name], entry)
			}
		}
	}
	var b strings.Builder
	b.WriteString("### Every kind\n\n")
	rowsOf(&b, everywhere, nil)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		rowsOf(&b, rows[name], versions[name])
	}
	return strings.TrimSpace(b.String())
}

func rowsOf(b *strings.Builder, rows []row, versions []string) {
	// A field may have two permissions, such as imageFrom and image. The row of the narrower one
	// names the other as well.
	rows = slices.DeleteFunc(slices.Clone(rows), func(a row) bool {
		return slices.ContainsFunc(rows, func(b row) bool {
			return a.path == b.path && len(b.verbs) > len(a.verbs) && len(a.versions) == len(b.versions) &&
				slices.Equal(a.verbs, b.verbs[len(b.verbs)-len(a.verbs):])
		})
	})
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.path, b.path) })
	b.WriteString("| field | covered by, the narrowest first |\n| --- | --- |\n")
	for _, entry := range rows {
		field := "`" + entry.path + "`"
		if entry.within != "" {
			field += fmt.Sprintf(", with [what is in it](#in-%s)", strings.ReplaceAll(entry.within, " ", "-"))
		}
		if len(entry.versions) < len(versions) {
			slices.Sort(entry.versions)
			field += ", in " + strings.Join(entry.versions, ", ")
		}
		fmt.Fprintf(b, "| %s | `%s` |\n", field, strings.Join(entry.verbs, "`, `"))
	}
}

// splitKindID splits the ID of a kind, such as apps/v1 Deployment, into its name with the group,
// Deployment.apps, and its version, v1.
func splitKindID(id string) (name, version string) {
	name, version, _ = strings.Cut(kindsText([]string{id}), " ")
	return name, version
}
