// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"io"
	"strings"
)

// MaxWidth is the maximum width of a table, in columns of a terminal. Wide tables may be wider.
const MaxWidth = 120

// Page is what a command prints for people: lines of text, and tables. Text is printed with Fprintf.
//
// All tables of the project are printed by a Page, so that all keep the same rules. Columns align.
// A table is at most MaxWidth columns wide: the longest cells are shortened until it fits. The last
// line of the page says so, and how to see all. A wide page shortens nothing.
type Page struct {
	io.Writer
	wide, shortened bool
}

// NewPage returns a page that is printed to out.
func NewPage(out io.Writer, wide bool) *Page { return &Page{Writer: out, wide: wide} }

// Wide reports whether the user asked for all columns, and all of their text.
func (p *Page) Wide() bool { return p.wide }

// Table prints a complete table. It escapes the cells.
func (p *Page) Table(header []string, rows [][]string) error { return p.Grouped(0, header, rows) }

// Grouped prints a complete table like Table. The first columns, as many as leading, name what a row is
// about: what a row shares with the row above is left out there, unless the page is wide.
func (p *Page) Grouped(leading int, header []string, rows [][]string) error {
	t := p.Begin(header...)
	t.group = leading
	for _, row := range rows {
		if err := t.Row(row...); err != nil {
			return err
		}
	}
	return t.print()
}

// Begin returns a table whose rows are printed as they come. Its header, if it has one, is printed
// with the first row.
func (p *Page) Begin(header ...string) *Table {
	t := &Table{page: p, columns: len(header)}
	if len(header) > 0 {
		t.add(cellsOf(header))
	}
	return t
}

// Close prints the last line, if there must be one.
func (p *Page) Close() error {
	if !p.shortened {
		return nil
	}
	p.shortened = false
	return Fprintf(p, "Texts with %s are shortened; -o wide shows them whole.\n", ellipsis)
}

// maxBlock is the number of rows that are kept to align their columns. Then they are printed, so that
// memory does not grow with a table. Columns of later rows may become wider, and not narrower.
const maxBlock = 1000

// Table is a table of a page.
type Table struct {
	page    *Page
	columns int
	group   int
	block   [][]Escaped
	// last is the last row, and natural has the width of the longest cell of each column, of all rows.
	last    []Escaped
	natural []int
	rows    int
}

// Row adds a row. It escapes the cells.
func (t *Table) Row(cells ...string) error { return t.EscapedRow(cellsOf(cells)...) }

// EscapedRow adds a row whose cells are escaped already. If it has fewer cells than the header, its
// last cell may be as wide as the page.
func (t *Table) EscapedRow(cells ...Escaped) error {
	if t.rows++; len(t.block) >= maxBlock {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	t.add(cells)
	return nil
}

func (t *Table) add(cells []Escaped) {
	for i, c := range cells {
		if i == len(t.natural) {
			t.natural = append(t.natural, minColumn)
		}
		if i < len(cells)-1 || len(cells) == t.columns || t.columns == 0 {
			t.natural[i] = max(t.natural[i], widthOf(string(c)))
		}
	}
	t.block = append(t.block, cells)
}

// Flush prints the rows that are not printed yet. A table without rows prints nothing.
func (t *Table) Flush() error {
	if t.rows == 0 {
		return nil
	}
	return t.print()
}

// print prints the rows that are not printed yet, and the header.
func (t *Table) print() error {
	widths := t.natural
	if !t.page.wide {
		widths = fit(t.natural, MaxWidth-gap*(len(t.natural)-1))
	}
	var out strings.Builder
	for _, cells := range t.block {
		out.WriteString(t.line(cells, widths) + "\n")
		t.last = cells
	}
	t.block = nil
	_, err := io.WriteString(t.page, out.String())
	return err
}

func (t *Table) line(cells []Escaped, widths []int) string {
	var line strings.Builder
	same, left := !t.page.wide, MaxWidth
	for i, c := range cells {
		text, room := string(c), widths[i]
		if same = same && i < t.group && i < len(t.last) && t.last[i] == c; same {
			text = ""
		}
		if i == len(cells)-1 && i < len(widths)-1 {
			room = left
		}
		left -= room + gap
		if !t.page.wide && widthOf(text) > room {
			text, t.page.shortened = shorten(text, room), true
		}
		line.WriteString(text)
		if pad := room + gap - widthOf(text); i < len(cells)-1 && pad > 0 {
			line.WriteString(strings.Repeat(" ", pad))
		}
	}
	return strings.TrimRight(line.String(), " ")
}

func cellsOf(texts []string) []Escaped {
	out := make([]Escaped, len(texts))
	for i, text := range texts {
		out[i] = Escaped(Cell(text))
	}
	return out
}
