// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"kube-granular.dev/api/printing"
)

// Formats are the output formats.
var Formats = []string{"table", "wide", "json", "yaml"}

// Printer prints records, one at a time.
type Printer interface {
	Print(*Record) error
	// Flush writes buffered output.
	Flush() error
	// Close ends the output.
	Close() error
}

// NewPrinter returns a printer that writes records to out in one of Formats.
func NewPrinter(format string, out io.Writer) (Printer, error) {
	switch format {
	case "", "table", "wide":
		return newTable(out, format == "wide"), nil
	case "json":
		return &listPrinter{out: out, begin: "{\"items\":[\n", between: ",\n", end: "\n]}\n", none: "{\"items\":[]}\n",
			marshal: func(r *Record) ([]byte, error) { return printing.MarshalJSON(r) }}, nil
	case "yaml":
		return &listPrinter{out: out, begin: "items:\n", none: "items: []\n", marshal: asYAML}, nil
	}
	return nil, fmt.Errorf("--output: %q is not supported, use one of %s", format, strings.Join(Formats, ", "))
}

// listPrinter prints all records in one document.
type listPrinter struct {
	out                       io.Writer
	begin, between, end, none string
	marshal                   func(*Record) ([]byte, error)
	started                   bool
}

// Print implements Printer.
func (l *listPrinter) Print(r *Record) error {
	text, err := l.marshal(r)
	if err != nil {
		return err
	}
	before := l.between
	if !l.started {
		l.started, before = true, l.begin
	}
	return printing.Fprintf(l.out, "%s%s", printing.Escaped(before), printing.Escaped(text))
}

// Flush implements Printer.
func (l *listPrinter) Flush() error { return nil }

// Close implements Printer.
func (l *listPrinter) Close() error {
	end := l.end
	if !l.started {
		end = l.none
	}
	return printing.Fprintf(l.out, "%s", printing.Escaped(end))
}

// tablePrinter prints one line per record.
type tablePrinter struct {
	page *printing.Page
	rows *printing.Table
}

func newTable(out io.Writer, wide bool) *tablePrinter {
	columns := []string{"TIME", "WHO", "ON-BEHALF-OF", "SELECTED", "VERB", "OBJECT", "RESULT", "REASON"}
	if wide {
		columns = append(columns, "HANDED-ON-BY", "DECISION", "AUDIT-ID")
	}
	page := printing.NewPage(out, wide)
	return &tablePrinter{page: page, rows: page.Begin(columns...)}
}

// Print implements Printer.
func (t *tablePrinter) Print(r *Record) error {
	cells := []printing.Escaped{
		received(r.Time), escape(r.Caller.Name), behalf(r), selectedText(r), escape(r.Verb), object(r), result(r), orNone(r.Reason),
	}
	if t.page.Wide() {
		cells = append(cells, handoversText(r), decision(r), escape(r.AuditID))
	}
	return t.rows.EscapedRow(cells...)
}

// Flush implements Printer.
func (t *tablePrinter) Flush() error { return t.rows.Flush() }

// Close implements Printer.
func (t *tablePrinter) Close() error {
	if err := t.rows.Flush(); err != nil {
		return err
	}
	return t.page.Close()
}

const none = "<none>"

// behalf returns the users on whose behalf the caller acted: those of the chain without the
// caller, in order. The first user is the one whose authority was handed over.
func behalf(r *Record) printing.Escaped {
	var names []printing.Escaped
	for i, e := range r.Chain {
		target := r.Caller.Name
		if i+1 < len(r.Chain) {
			target = r.Chain[i+1].By
		}
		// Leave out a token of the same user, because it hands no authority to another user.
		if e.Via == Token && e.By == target {
			continue
		}
		if e.By == "" {
			continue // the server did not know the delegation, so the log does not name the delegator
		}
		names = append(names, escape(e.By))
	}
	return escapedChain(names)
}

func selectedText(r *Record) printing.Escaped {
	s := r.Selected
	if s == nil {
		return none
	}
	parts := []string{string(s.Kind)}
	if s.Namespace != "" {
		parts = append(parts, s.Namespace)
	}
	if s.Name == "" {
		parts = append(parts, string(s.UID))
	} else {
		parts = append(parts, s.Name)
	}
	text := strings.Join(parts, "/")
	if r.Bound {
		text += " (bound)"
	}
	return escape(text)
}

func received(t time.Time) printing.Escaped {
	if t.IsZero() {
		return none
	}
	return printing.Escaped(t.UTC().Format(time.RFC3339))
}

func orNone(text string) printing.Escaped {
	if text == "" {
		return none
	}
	return escape(text)
}

// decision returns the decision of the authorizer with its reason.
func decision(r *Record) printing.Escaped {
	if r.DecisionReason == "" {
		return orNone(r.Decision)
	}
	return orNone(r.Decision + ": " + r.DecisionReason)
}

func object(r *Record) printing.Escaped {
	o := r.Object
	if o == nil {
		path, _, _ := strings.Cut(r.URI, "?")
		return escape(path)
	}
	text := o.Resource
	if o.APIGroup != "" {
		text += "." + o.APIGroup
	}
	if o.Subresource != "" {
		text += "/" + o.Subresource
	}
	for _, part := range []string{o.Namespace, o.Name} {
		if part != "" {
			text += " " + part
		}
	}
	return escape(text)
}

func result(r *Record) printing.Escaped {
	text := "none"
	switch {
	case r.Running:
		text = "running"
	case r.Code != 0:
		text = strconv.Itoa(int(r.Code))
	}
	if r.Refused != "" {
		text += " " + r.Refused
	}
	if r.Delegation != nil {
		text += " delegated " + r.Delegation.Name
	}
	return escape(text)
}

// handoversText returns how authority was handed over, for each entry of the chain in order: the
// kind of handover, the name of the delegation, Pod or Node, and the expiry.
func handoversText(r *Record) printing.Escaped {
	var out []printing.Escaped
	for _, e := range r.Chain {
		text := e.Via
		if e.Name != "" {
			text += " " + e.Name
		}
		if e.Until != "" {
			text += " until " + e.Until
		}
		out = append(out, escape(text))
	}
	return escapedChain(out)
}

// escape returns text for a cell. It also quotes text that contains quotes or " > ", which separates
// the users of a chain.
func escape(text string) printing.Escaped {
	if strings.Contains(text, " > ") || strings.ContainsAny(text, `"\\`) {
		return printing.Escaped(strconv.Quote(text))
	}
	return printing.Escaped(printing.Cell(text))
}

// escapedChain joins the cells of the users of a chain.
func escapedChain(cells []printing.Escaped) printing.Escaped {
	var out printing.Escaped
	for i, c := range cells {
		if i > 0 {
			out += " > "
		}
		out += c
	}
	return cmp.Or(out, none)
}

// asYAML returns a record as an element of a YAML list.
func asYAML(r *Record) ([]byte, error) { return printing.MarshalYAML([]*Record{r}) }
