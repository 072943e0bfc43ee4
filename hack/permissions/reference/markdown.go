// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/hack/permissions/vocabulary"
)

//go:embed permissions.md
var pageTemplate string

// Markdown formats the registry as the page docs/permissions.md, with the template permissions.md.
func Markdown(r *registry.Registry, v *vocabulary.Vocabulary) ([]byte, error) {
	var tables, places strings.Builder
	table(&tables, r, "")
	scopes := make([]string, 0, len(v.Scopes))
	for scope := range v.Scopes {
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	for _, scope := range scopes {
		fmt.Fprintf(&tables, "\n### In %s\n\n", v.Scopes[scope])
		table(&tables, r, scope)
	}
	for _, p := range r.Permissions {
		fmt.Fprintf(&places, "\n### %s\n\n", p.Name)
		for _, place := range p.Places {
			item := fmt.Sprintf("- `%s`", place.Path)
			if len(place.Above) > 0 {
				item += fmt.Sprintf(", below `%s`", strings.Join(place.Above, "` `"))
			}
			wrap(&places, item+": "+kindsText(place.Kinds))
		}
	}
	return fillTemplate(map[string]string{
		"generated": "<!-- " + generated + " -->",
		"tables":    strings.TrimSpace(tables.String()),
		"kinds":     fieldsByKind(r, v),
		"places":    strings.TrimSpace(places.String()),
		"uncovered": uncoveredTable(v),
		"resources": resourcesTable(r),
	})
}

func fillTemplate(values map[string]string) ([]byte, error) {
	out := pageTemplate
	for name, value := range values {
		mark := "{{" + name + "}}"
		if strings.Count(out, mark) != 1 {
			return nil, fmt.Errorf("permissions.md: %s must occur exactly once", mark)
		}
		out = strings.Replace(out, mark, value, 1)
	}
	return []byte(out), nil
}

func table(b *strings.Builder, r *registry.Registry, scope string) {
	b.WriteString("| verb | meaning | part of `update` |\n| --- | --- | --- |\n")
	for _, p := range r.Permissions {
		if p.Scope != scope {
			continue
		}
		included := "yes"
		if p.Excluded {
			included = "**no**, excluded"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", verb(p), p.Meaning, included)
	}
}

// verb returns the verb of a permission. In place of a parameter it has a description.
func verb(p registry.Permission) string {
	if p.Parameter == nil {
		return "granular:" + p.Name
	}
	return "granular:" + p.Name + "(" + parameter(p.Parameter) + ")"
}

// maxColumns is the maximum length of a line in a list of the page.
const maxColumns = 100

// wrap writes an item of a list, broken after commas into lines of at most maxColumns.
func wrap(b *strings.Builder, item string) {
	line := 0
	for i, part := range strings.SplitAfter(item, ", ") {
		switch word := len(strings.TrimSuffix(part, " ")); {
		case i == 0:
		case line+word > maxColumns:
			b.WriteString("\n  ")
			line = 2
		default:
			b.WriteString(" ")
			line++
		}
		part = strings.TrimSuffix(part, " ")
		b.WriteString(part)
		line += len(part)
	}
	b.WriteString("\n")
}

// parameter returns a description of the text in the parentheses of a verb.
func parameter(p *registry.Parameter) string {
	name := strings.ReplaceAll(p.Source, "-", " ")
	switch field, ofValue := strings.CutPrefix(p.Source, "self."); {
	case p.Treatment == "image-repository-prefix":
		return "registry and repository prefix"
	case p.Treatment == "slash-delimited-prefix":
		return "domain of the " + name
	case ofValue:
		return field
	case p.Source == "self":
		return "value"
	}
	return name
}

// kindsText returns a list of kinds for a sentence, with the versions of each kind: Deployment.apps
// v1, Pod v1.
func kindsText(ids []string) string {
	if len(ids) == 1 && ids[0] == registry.All {
		return "every kind"
	}
	versions := map[string][]string{}
	for _, id := range ids {
		gv, kind, _ := strings.Cut(id, " ")
		group, version, found := strings.Cut(gv, "/")
		if !found {
			group, version = "", gv
		}
		name := kind
		if group != "" {
			name += "." + group
		}
		versions[name] = append(versions[name], version)
	}
	names := make([]string, 0, len(versions))
	for name := range versions {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		slices.Sort(versions[name])
		names[i] = name + " " + strings.Join(versions[name], " ")
	}
	return strings.Join(names, ", ")
}

func uncoveredTable(v *vocabulary.Vocabulary) string {
	var b strings.Builder
	b.WriteString("| kind | fields | reason |\n| --- | --- | --- |\n")
	for _, u := range v.Uncovered {
		var names []string
		for _, kind := range u.Kinds {
			if u.Group != "" {
				kind += "." + u.Group
			}
			names = append(names, kind)
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "| %s | `.%s` | %s |\n", strings.Join(names, ", "), strings.Join(u.Fields, "` `."), u.Reason)
	}
	return strings.TrimSpace(b.String())
}

// resourcesTable returns the table of the resources that a role must name to grant permissions of a
// kind.
func resourcesTable(r *registry.Registry) string {
	resources := map[string][]string{}
	var names []string
	for _, k := range r.Kinds {
		name, _, _ := strings.Cut(kindsText([]string{k.Kind}), " ")
		if resources[name] == nil {
			names = append(names, name)
		}
		resources[name] = append(resources[name], k.Resources...)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("| kind | resources |\n| --- | --- |\n")
	for _, name := range names {
		slices.Sort(resources[name])
		fmt.Fprintf(&b, "| %s | `%s` |\n", name, strings.Join(slices.Compact(resources[name]), "` `"))
	}
	return strings.TrimSpace(b.String())
}
