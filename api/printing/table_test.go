// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"kube-granular.dev/api/printing"
)

// noHeader prints one row of a table, without the header and the last line of the page.
func noHeader(w io.Writer, cells ...string) error {
	var out bytes.Buffer
	err := printing.NewPage(&out, false).Table(make([]string, len(cells)), [][]string{cells})
	_, row, _ := strings.Cut(out.String(), "\n")
	_, _ = io.WriteString(w, row)
	return err
}

// wideRow prints one row like noHeader, and shortens nothing.
func wideRow(w io.Writer, cells ...string) error {
	var out bytes.Buffer
	err := printing.NewPage(&out, true).Table(make([]string, len(cells)), [][]string{cells})
	_, row, _ := strings.Cut(out.String(), "\n")
	_, _ = io.WriteString(w, row)
	return err
}

// TestTable holds how tables look.
func TestTable(t *testing.T) {
	long := strings.Repeat("x", 40)
	for name, tc := range map[string]struct {
		wide   bool
		group  int
		header []string
		rows   [][]string
		want   string
	}{
		"columns align": {header: []string{"A", "LONGER", "C"}, rows: [][]string{{"abcdef", "", "x"}, {"", "y", ""}},
			want: "A        LONGER   C\nabcdef            x\n         y\n"},
		"wide characters align": {header: []string{"A", "B"}, rows: [][]string{{"日本", "x"}, {"abcd", "y"}},
			want: "A      B\n日本   x\nabcd   y\n"},
		"no rows": {header: []string{"A", "B"}, want: "A     B\n"},
		"a group is named once": {group: 2, header: []string{"A", "B", "C"}, rows: [][]string{{"s", "n", "c"}, {"s", "n", "c"}, {"s", "m", "c"}, {"t", "m", "c"}},
			want: "A     B     C\ns     n     c\n            c\n      m     c\nt     m     c\n"},
		"a wide page repeats it": {wide: true, group: 1, header: []string{"A", "B"}, rows: [][]string{{"s", "n"}, {"s", "n"}},
			want: "A     B\ns     n\ns     n\n"},
		"the widest cells are shortened: a word in the middle, words at the end": {header: []string{"A", "B", "C"},
			rows: [][]string{{long + long + long + "-end", "short", strings.Repeat("granular:word ", 9) + "end"}},
			want: "A                                             B       C\n" +
				strings.Repeat("x", 21) + "…" + strings.Repeat("x", 17) + "-end" + "   short   " + strings.Repeat("granular:word ", 4) + "…\n" +
				"Texts with … are shortened; -o wide shows them whole.\n"},
		"a wide page has all": {wide: true, header: []string{"A", "B"}, rows: [][]string{{long + long + long, long}},
			want: "A" + strings.Repeat(" ", 122) + "B\n" + long + long + long + "   " + long + "\n"},
		"a narrow column stays": {header: []string{"TIME", "A", "B", "C", "D", "E"}, rows: [][]string{{"2026-11-23T08:02:00Z", long, long, long, long, long}},
			want: "TIME                   A                   B                   C                   D                   E\n2026-11-23T08:02:00Z" +
				strings.Repeat("   xxxxxxxx…xxxxxxxx", 5) + "\nTexts with … are shortened; -o wide shows them whole.\n"},
		"what looks shortened is quoted": {header: []string{"A"}, rows: [][]string{{"a…b"}}, want: "A\n\"a…b\"\n"},
	} {
		var out bytes.Buffer
		page := printing.NewPage(&out, tc.wide)
		if err := page.Grouped(tc.group, tc.header, tc.rows); err != nil {
			t.Fatal(err)
		}
		if err := page.Close(); err != nil || out.String() != tc.want {
			t.Errorf("%s: %v\n%s\nwanted\n%s", name, err, out.String(), tc.want)
		}
	}
}

// TestTableFits holds that no table is wider than MaxWidth, whatever its cells are, and that each cell
// stands in its column. A wide table has each cell whole.
func TestTableFits(t *testing.T) {
	texts := append([]string{"short", strings.Repeat("long-", 60), strings.Repeat("日本", 90), strings.Repeat("word ", 90) + "w", strings.Repeat("a,", 90), "│  ├─ " + strings.Repeat("n", 150)}, hostile...)
	for columns := 1; columns <= 12; columns++ {
		for i := range texts {
			var rows [][]string
			for j := range 3 {
				row := make([]string, columns)
				for k := range row {
					row[k] = texts[(i+j*k)%len(texts)]
				}
				rows = append(rows, row)
			}
			header := make([]string, columns)
			for k := range header {
				header[k] = fmt.Sprintf("COLUMN-%d", k)
			}
			var out, whole bytes.Buffer
			page := printing.NewPage(&out, false)
			if err := page.Table(header, rows); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != 4 {
				t.Fatalf("%d lines\n%s", len(lines), out.String())
			}
			for _, line := range lines {
				checkLine(t, "a table", line+"\n")
				if n := utf8.RuneCountInString(line); n > printing.MaxWidth {
					t.Errorf("%d characters in a line of %d columns: %q", n, columns, line)
				}
			}
			if err := printing.NewPage(&whole, true).Table(header, rows); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				for _, text := range row {
					if !strings.Contains(whole.String(), printing.Cell(text)) {
						t.Errorf("a wide table lacks %q\n%s", text, whole.String())
					}
				}
			}
		}
	}
}

// TestTableInBlocks holds that rows of a long table are printed before its end, that a table without
// rows has no header, that one may have no header at all, and that a row with fewer cells does not widen its column.
func TestTableInBlocks(t *testing.T) {
	var out bytes.Buffer
	page := printing.NewPage(&out, false)
	table := page.Begin("A", "B")
	if err := table.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	var bare bytes.Buffer
	bars := printing.NewPage(&bare, false).Begin()
	if err := errors.Join(bars.Row("a", "long enough"), bars.Row("bcde", "x"), bars.Flush()); err != nil || bare.String() != "a      long enough\nbcde   x\n" {
		t.Errorf("%v, without a header:\n%s", err, bare.String())
	}
	if err := table.EscapedRow("one cell over both columns"); err != nil {
		t.Fatal(err)
	}
	for range 2500 {
		if err := table.Row("a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "\n"); n < 1500 || n >= 2500 {
		t.Errorf("%d rows are printed", n)
	}
	if err := table.Flush(); err != nil || !strings.HasPrefix(out.String(), "A     B\none cell over both columns\na     b\n") || strings.Count(out.String(), "\n") != 2502 {
		t.Errorf("%v\n%.200s", err, out.String())
	}
}
