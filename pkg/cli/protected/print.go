// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/kinds"
)

// Formats are the output formats of a report.
var Formats = []string{"table", "wide", "json"}

// Printer prints the rows of a report one at a time.
type Printer interface {
	Sink
	// Close completes the output.
	Close() error
}

// NewPrinter returns a printer for a format. Rows are written to out. Read errors are written to
// errs, and progress to progress if it is not nil, so that out can be piped.
func NewPrinter(format string, out, errs, progress io.Writer) (Printer, error) {
	side := sideOutput{errs: errs, progress: progress}
	switch format {
	case "", "table", "wide":
		return newTable(side, printing.NewPage(out, format == "wide")), nil
	case "json":
		return &document{sideOutput: side, out: out}, nil
	}
	return nil, fmt.Errorf("--output: %q is not supported, use one of %s", format, strings.Join(Formats, ", "))
}

// sideOutput writes errors and progress.
type sideOutput struct {
	errs, progress io.Writer
	// shown is true while the progress line is on the terminal.
	shown bool
}

// Unread implements Sink.
func (s *sideOutput) Unread(err error) {
	s.clear()
	printing.Fprintf(s.errs, "warning: %s\n", err)
}

func (s *sideOutput) progressTo(resource string, objects int) {
	if s.progress == nil {
		return
	}
	s.clear()
	printing.Fprintf(s.progress, "%s: %d objects so far", resource, objects)
	s.shown = true
}

// clear clears the progress line.
func (s *sideOutput) clear() {
	if s.shown {
		printing.Fprintf(s.progress, "\r\x1b[K")
		s.shown = false
	}
}

// table prints the rows of a report as a table.
type table struct {
	sideOutput
	page  *printing.Page
	out   *printing.Table
	empty bool
}

func newTable(side sideOutput, page *printing.Page) *table {
	columns := []string{"NAMESPACE", "OBJECT", "KIND", "FIELD", "PROTECTED-BY"}
	if page.Wide() {
		columns = append(columns, "VALUE")
	}
	return &table{sideOutput: side, page: page, out: page.Begin(columns...), empty: true}
}

// Row implements Sink.
func (t *table) Row(r Row) error {
	t.empty = false
	object := kinds.Qualified(r.Group, r.Resource) + "/" + r.Name
	var cells []printing.Escaped
	for _, text := range []string{cmp.Or(r.Namespace, "<none>"), object, r.Kind, r.Field, strings.Join(r.By, ",")} {
		cells = append(cells, printing.Escaped(printing.Cell(text)))
	}
	if t.page.Wide() {
		cells = append(cells, oneLine(r.Value))
	}
	return t.out.EscapedRow(cells...)
}

// Page implements Sink.
func (t *table) Page(resource string, objects int) error {
	t.progressTo(resource, objects)
	return nil
}

// Close implements Printer.
func (t *table) Close() error {
	t.clear()
	if t.empty {
		printing.Fprintf(t.errs, "No object has a protected label or annotation.\n")
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	return t.page.Close()
}

// oneLine formats a value for a cell of a table. A value that is empty or has quotes is quoted.
func oneLine(value string) printing.Escaped {
	if value == "" || strings.ContainsAny(value, `"\\`) {
		return printing.Escaped(strconv.Quote(value))
	}
	return printing.Escaped(printing.Cell(value))
}

// document prints the rows of a report as one JSON document, with one row on each line.
type document struct {
	sideOutput
	out  io.Writer
	rows int
}

// Row implements Sink.
func (d *document) Row(r Row) error {
	line, err := printing.MarshalJSON(r)
	if err != nil {
		return err
	}
	before := ",\n"
	if d.rows == 0 {
		before = "{\"items\":[\n"
	}
	d.rows++
	return printing.Fprintf(d.out, "%s%s", printing.Escaped(before), printing.Escaped(line))
}

// Page implements Sink.
func (d *document) Page(resource string, objects int) error {
	d.progressTo(resource, objects)
	return nil
}

// Close implements Printer.
func (d *document) Close() error {
	d.clear()
	end := "\n]}\n"
	if d.rows == 0 {
		end = "{\"items\":[]}\n"
	}
	return printing.Fprintf(d.out, "%s", printing.Escaped(end))
}
