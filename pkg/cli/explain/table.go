// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"io"
	"strings"

	"kube-granular.dev/api/printing"
)

// The texts that the table shows for a field without a verb.
const (
	none   = "<none: no granular request can change it>"
	system = "<none: the server alone writes it>"
)

// Table writes the field, and the fields below it as a tree. A wide table has further columns: the
// type, the scope, and all verbs that cover a field.
func (e *Explanation) Table(out *printing.Page) error {
	if e.Group != "" {
		printing.Fprintf(out, "GROUP:      %s\n", e.Group)
	}
	printing.Fprintf(out, "KIND:       %s\nVERSION:    %s\nRESOURCES:  %s\n", e.Kind, e.Version, strings.Join(e.Resources, " "))
	if e.Field.Path != "" {
		e.field(out)
	}
	if len(e.Field.Fields) == 0 {
		e.subresources(out)
		return nil
	}
	header := []string{"FIELD", "VERB", "PART OF UPDATE"}
	if out.Wide() {
		header = append(header, "TYPE", "SCOPE", "COVERED BY")
	}
	printing.Fprintf(out, "\n")
	t := table{wide: out.Wide(), resource: e.Resources[0]}
	t.rows(e.Field.Fields, "", "")
	tree := out.Begin(header...)
	for _, row := range t.out {
		if err := tree.EscapedRow(row...); err != nil {
			return err
		}
	}
	if err := tree.Flush(); err != nil {
		return err
	}
	if t.inherited {
		printing.Fprintf(out, "\nA verb in parentheses is that of a field above.\n")
	}
	e.subresources(out)
	return nil
}

// subresources writes the fields of subresources with objects of another kind.
func (e *Explanation) subresources(out io.Writer) {
	for _, sub := range e.Subresources {
		printing.Fprintf(out, "\nTHROUGH %s (%s); a role needs the verb and granular there too:\n", sub.Resource, sub.Kind)
		for _, f := range sub.Fields {
			printing.Fprintf(out, "    %s: %s\n", strings.TrimPrefix(f.Path, "."), strings.Join(f.CoveredBy, " "))
		}
	}
}

// field writes the description of the field itself.
func (e *Explanation) field(out io.Writer) {
	f := &e.Field
	printing.Fprintf(out, "\nFIELD: %s <%s>\n\n", strings.TrimPrefix(f.Path, "."), f.Type)
	switch {
	case f.System:
		printing.Fprintf(out, "Only the server writes this field; no permission is needed.\n")
	case len(f.CoveredBy) == 0:
		printing.Fprintf(out, "No permission covers this field: no granular request can change it.\n")
	default:
		printing.Fprintf(out, "VERBS, most general first; one of them is needed, together with the verb granular:\n")
		for _, v := range f.CoveredBy {
			printing.Fprintf(out, "    %s\n", v)
		}
		if f.Excluded {
			printing.Fprintf(out, "PART OF UPDATE: no. Holders of create, update or patch need one of these verbs too.\n")
		} else {
			printing.Fprintf(out, "PART OF UPDATE: yes. Holders of create, update or patch need none of these verbs.\n")
		}
	}
	if f.Description != "" {
		printing.Fprintf(out, "\nDESCRIPTION:\n%s", wrapText(f.Description, "    ", 80))
	}
}

type table struct {
	wide      bool
	resource  string
	out       [][]printing.Escaped
	inherited bool
}

// rows adds a row for each field and for the fields below it.
func (t *table) rows(fields []Entry, first, indent string) {
	for i := range fields {
		f := &fields[i]
		branch, below := first+"├─ ", indent+"│  "
		if i == len(fields)-1 {
			branch, below = first+"└─ ", indent+"   "
		}
		if isRoot := strings.Count(f.Path, ".") == 1 && !strings.Contains(f.Path, "["); isRoot {
			branch, below = "", ""
		}
		cells := []string{t.verb(f), partOfUpdate(f)}
		if t.wide {
			cells = append(cells, f.Type, f.Scope, strings.Join(f.CoveredBy, " "))
		}
		// The spaces of the branch are not data, and so are not escaped.
		row := []printing.Escaped{printing.Escaped(branch + printing.Cell(f.name))}
		for _, c := range cells {
			row = append(row, printing.Escaped(printing.Cell(c)))
		}
		t.out = append(t.out, row)
		t.rows(f.Fields, below, below)
		if f.Folded > 0 {
			t.out = append(t.out, []printing.Escaped{printing.Escaped(below) +
				printing.Sprintf("└─ … %d more: explain %s %s", f.Folded, t.resource, strings.TrimPrefix(f.Path, "."))})
		}
	}
}

func (t *table) verb(f *Entry) string {
	var verbs []string
	for _, v := range f.Verbs {
		verbs = append(verbs, v.Verb)
	}
	switch {
	case f.System:
		return system
	case len(verbs) > 0:
		return strings.Join(verbs, " ")
	case len(f.CoveredBy) == 0:
		return none
	}
	t.inherited = true
	return "(" + f.CoveredBy[len(f.CoveredBy)-1] + ")"
}

func partOfUpdate(f *Entry) string {
	switch {
	case f.System || len(f.CoveredBy) == 0:
		return ""
	case f.Excluded:
		return "no"
	}
	return "yes"
}

// wrapText breaks a text into indented lines of at most width characters.
func wrapText(text, indent string, width int) printing.Escaped {
	var b strings.Builder
	for _, paragraph := range strings.Split(text, "\n") {
		line := indent
		for _, word := range strings.Fields(paragraph) {
			word = printing.Escape(word)
			if len(line)+len(word)+1 > width && line != indent {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = indent
			}
			line += word + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return printing.Escaped(b.String())
}
