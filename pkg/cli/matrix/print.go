// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"

	"kube-granular.dev/pkg/cli/output"
)

// Table writes a table with a row for each permission. If short is true, it has a row for each
// resource instead, with the number of the resource's permissions that each subject has.
func (m *Matrix) Table(out io.Writer, short, wide bool) error {
	if short {
		return m.shortTable(out)
	}
	header := append([]string{"RESOURCE", "VERB", "FIELD"}, m.Subjects...)
	var rows [][]string
	for _, r := range m.Rows {
		field := r.Fields[0]
		if wide {
			field = strings.Join(r.Fields, ",")
		} else if more := len(r.Fields) - 1; more > 0 {
			field += fmt.Sprintf(" (and %d more)", more)
		}
		row := []string{r.Resource, r.Verb, field}
		for _, c := range r.Cells {
			text := c.Level.String()
			if wide && c.Verb != "" {
				text += " by " + c.Verb + ", " + c.Binding
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return output.Table(out, header, rows)
}

func (m *Matrix) shortTable(out io.Writer) error {
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
	return output.Table(out, header, rows)
}

// CSV writes a row for each permission, for a spreadsheet.
func (m *Matrix) CSV(out io.Writer) error {
	w := csv.NewWriter(out)
	rows := [][]string{append([]string{"resource", "verb", "fields", "excluded"}, m.Subjects...)}
	for _, r := range m.Rows {
		row := []string{r.Resource, r.Verb, strings.Join(r.Fields, " "), fmt.Sprint(r.Excluded)}
		for _, c := range r.Cells {
			row = append(row, c.Level.String())
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		for i, text := range row {
			// A spreadsheet would interpret such a text as a formula, so it is quoted.
			if strings.HasPrefix(text, "=") || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "@") {
				row[i] = "'" + text
			}
		}
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return w.Error()
}

//go:embed page.html
var page string

// The placeholders in page.html that Page replaces.
const (
	dataPlaceholder  = "/*DATA*/null"
	titlePlaceholder = "{{title}}"
)

// Page writes the matrix as one self-contained HTML page that needs no network.
func (m *Matrix) Page(out io.Writer, title string) error {
	// The JSON encoder escapes <, so that data can't end the script element.
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if strings.Count(page, dataPlaceholder) != 1 {
		return errors.New("the template of the page has no placeholder for the data")
	}
	text := strings.ReplaceAll(page, titlePlaceholder, html.EscapeString(title))
	before, after, _ := strings.Cut(text, dataPlaceholder)
	_, err = fmt.Fprint(out, before, string(data), after)
	return err
}
