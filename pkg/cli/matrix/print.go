// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"fmt"
	"io"
	"strings"

	"kube-granular.dev/api/printing"
)

// Table writes what the subjects may change. If short is true, it writes numbers of permissions of each
// resource. Otherwise it names the fields. A wide table, and that of one subject, has a column for each
// subject, and also a row for what nobody may change.
func (m *Matrix) Table(page *printing.Page, short bool) error {
	columns := page.Wide() || len(m.Subjects) == 1
	switch {
	case short && columns:
		return m.counts(page)
	case columns:
		return m.permissions(page)
	case short:
		return m.countsBySubject(page)
	}
	return m.fieldsBySubject(page)
}

// permissions writes a row for each permission and a column for each subject.
func (m *Matrix) permissions(page *printing.Page) error {
	header := append([]string{"RESOURCE", "VERB", "FIELD"}, m.Subjects...)
	var rows [][]string
	for _, r := range m.Rows {
		field := r.Fields[0]
		if page.Wide() {
			field = strings.Join(r.Fields, ",")
		} else if more := len(r.Fields) - 1; more > 0 {
			field += fmt.Sprintf(" (and %d more)", more)
		}
		row := []string{r.Resource, r.Verb, field}
		for _, c := range r.Cells {
			text := c.Level.String()
			if page.Wide() && c.Verb != "" {
				text += " by " + c.Verb + ", " + c.Binding
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return page.Table(header, rows)
}

// counts writes a row for each resource and a column for each subject.
func (m *Matrix) counts(page *printing.Page) error {
	header := append([]string{"RESOURCE", "PERMISSIONS"}, m.Subjects...)
	var rows [][]string
	for _, resource := range m.Resources() {
		yes, some, all := m.Counts(resource)
		row := []string{resource, fmt.Sprint(all)}
		for i := range m.Subjects {
			text := fmt.Sprint(yes[i])
			if some[i] > 0 {
				text += fmt.Sprintf(" (%d in part)", some[i])
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return page.Table(header, rows)
}

// countsBySubject writes for each subject the resources of which it may change something. Resources
// that it may change as a whole share a row.
func (m *Matrix) countsBySubject(page *printing.Page) error {
	whole, rows := make([][]string, len(m.Subjects)), make([][][]string, len(m.Subjects))
	for _, resource := range m.Resources() {
		yes, some, all := m.Counts(resource)
		for i, subject := range m.Subjects {
			switch {
			case yes[i] == all:
				whole[i] = append(whole[i], resource)
			case some[i] > 0:
				rows[i] = append(rows[i], []string{subject, fmt.Sprintf("%d of %d, %d in part", yes[i], all, some[i]), resource})
			case yes[i] > 0:
				rows[i] = append(rows[i], []string{subject, fmt.Sprintf("%d of %d", yes[i], all), resource})
			}
		}
	}
	var out [][]string
	for i, subject := range m.Subjects {
		if len(whole[i]) > 0 {
			out = append(out, []string{subject, "all", strings.Join(whole[i], ", ")})
		}
		if out = append(out, rows[i]...); len(whole[i])+len(rows[i]) == 0 {
			out = append(out, []string{subject, none, ""})
		}
	}
	return page.Grouped(1, []string{"SUBJECT", "PERMISSIONS", "OF"}, out)
}

// none stands for a subject that may change nothing.
const none = "<none>"

// fieldsBySubject writes for each subject and resource the fields that it may change, by the verbs that
// allow it.
func (m *Matrix) fieldsBySubject(page *printing.Page) error {
	type key struct {
		resource, verb string
		level          Level
	}
	var out [][]string
	for i, subject := range m.Subjects {
		var order []key
		fields := map[key][]string{}
		for _, r := range m.Rows {
			c := r.Cells[i]
			if c.Level == No {
				continue
			}
			k := key{r.Resource, c.Verb, c.Level}
			if fields[k] == nil {
				order = append(order, k)
			}
			fields[k] = append(fields[k], r.Fields[0])
		}
		for _, k := range order {
			out = append(out, []string{subject, k.resource, k.level.String(), k.verb, strings.Join(fields[k], ", ")})
		}
		if len(order) == 0 {
			out = append(out, []string{subject, none, "", "", ""})
		}
	}
	return page.Grouped(2, []string{"SUBJECT", "RESOURCE", "ALLOWED", "BY", "FIELDS"}, out)
}

// CSV writes a row for each permission, for a spreadsheet.
func (m *Matrix) CSV(out io.Writer) error {
	header := []any{"resource", "verb", "fields", "excluded"}
	for _, s := range m.Subjects {
		header = append(header, s)
	}
	rows := [][]any{header}
	for _, r := range m.Rows {
		row := []any{r.Resource, r.Verb, strings.Join(r.Fields, " "), r.Excluded}
		for _, c := range r.Cells {
			row = append(row, c.Level)
		}
		rows = append(rows, row)
	}
	return printing.CSV(out, rows)
}
