// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
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
		return &table{sideOutput: side, out: printers.GetNewTabWriter(out), wide: format == "wide"}, nil
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
	fmt.Fprintln(s.errs, "warning:", err)
}

func (s *sideOutput) page(resource string, objects int) {
	if s.progress == nil {
		return
	}
	s.clear()
	fmt.Fprintf(s.progress, "%s: %d objects so far", resource, objects)
	s.shown = true
}

// clear clears the progress line.
func (s *sideOutput) clear() {
	if s.shown {
		fmt.Fprint(s.progress, "\r\x1b[K")
		s.shown = false
	}
}

// table prints the rows of a report as a table. Columns are aligned within each page of objects.
type table struct {
	sideOutput
	out     printersWriter
	wide    bool
	started bool
	rows    int
}

// printersWriter has those methods of a tab writer that table uses.
type printersWriter interface {
	io.Writer
	Flush() error
}

// Row implements Sink.
func (t *table) Row(r Row) error {
	columns := []string{"NAMESPACE", "OBJECT", "KIND", "FIELD", "PROTECTED-BY"}
	if t.wide {
		columns = append(columns, "VALUE")
	}
	if !t.started {
		t.started = true
		fmt.Fprintln(t.out, strings.Join(columns, "\t"))
	}
	t.rows++
	object := r.Resource
	if r.Group != "" {
		object += "." + r.Group
	}
	cells := []string{orNone(r.Namespace), object + "/" + r.Name, r.Kind, r.Field, strings.Join(r.By, ",")}
	if t.wide {
		cells = append(cells, oneLine(r.Value))
	}
	_, err := fmt.Fprintln(t.out, strings.Join(cells, "\t"))
	return err
}

// Page implements Sink.
func (t *table) Page(resource string, objects int) error {
	t.clear()
	if err := t.out.Flush(); err != nil {
		return err
	}
	t.page(resource, objects)
	return nil
}

// Close implements Printer.
func (t *table) Close() error {
	t.clear()
	if t.rows == 0 {
		fmt.Fprintln(t.errs, "No object has a protected label or annotation.")
	}
	return t.out.Flush()
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

// maxShown is the maximum length in bytes of a value in a table.
const maxShown = 60

// oneLine formats a value for a line of a table. A longer value is truncated. A value that is empty
// or has characters that Go would escape, such as a tab or a quote, is quoted.
func oneLine(value string) string {
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	quoted := fmt.Sprintf("%q", value)
	if quoted[1:len(quoted)-1] == value && value != "" {
		return value
	}
	return quoted
}

// document prints the rows of a report as one JSON document, with one row on each line.
type document struct {
	sideOutput
	out  io.Writer
	rows int
}

// Row implements Sink.
func (d *document) Row(r Row) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	before := ",\n"
	if d.rows == 0 {
		before = "{\"items\":[\n"
	}
	d.rows++
	_, err = fmt.Fprint(d.out, before, string(line))
	return err
}

// Page implements Sink.
func (d *document) Page(resource string, objects int) error {
	d.page(resource, objects)
	return nil
}

// Close implements Printer.
func (d *document) Close() error {
	d.clear()
	end := "\n]}\n"
	if d.rows == 0 {
		end = "{\"items\":[]}\n"
	}
	_, err := fmt.Fprint(d.out, end)
	return err
}
