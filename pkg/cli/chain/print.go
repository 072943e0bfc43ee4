// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/selection"
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
		w := printers.GetNewTabWriter(out)
		return &tablePrinter{out: w, flush: w.Flush, wide: format == "wide"}, nil
	case "json":
		return &listPrinter{out: out, begin: "{\"items\":[\n", between: ",\n", end: "\n]}\n", none: "{\"items\":[]}\n", marshal: func(r *Record) ([]byte, error) { return json.Marshal(r) }}, nil
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
	_, err = io.WriteString(l.out, before+string(text))
	return err
}

// Flush implements Printer.
func (l *listPrinter) Flush() error { return nil }

// Close implements Printer.
func (l *listPrinter) Close() error {
	end := l.end
	if !l.started {
		end = l.none
	}
	_, err := io.WriteString(l.out, end)
	return err
}

// maxRows is the number of rows of a table that are buffered at a time to align their columns.
// Then they are written, so that memory does not grow with the log.
const maxRows = 200

// tablePrinter prints one line per record.
type tablePrinter struct {
	out           io.Writer
	flush         func() error
	wide, started bool
	rows          int
}

// Print implements Printer.
func (t *tablePrinter) Print(r *Record) error {
	columns := []string{"TIME", "WHO", "ON-BEHALF-OF", "SELECTED", "VERB", "OBJECT", "RESULT"}
	cells := []string{
		r.Time.UTC().Format(time.RFC3339), t.name(r.Caller.Name), t.behalf(r), selectedText(r.Selected), escape(r.Verb), object(r), result(r),
	}
	if t.wide {
		columns = append(columns, "HANDED-ON-BY", "AUDIT-ID")
		cells = append(cells, handoversText(r), escape(r.AuditID))
	}
	if !t.started {
		t.started = true
		if _, err := fmt.Fprintln(t.out, strings.Join(columns, "\t")); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(t.out, strings.Join(cells, "\t")); err != nil {
		return err
	}
	if t.rows++; t.rows%maxRows == 0 {
		return t.flush()
	}
	return nil
}

// Flush implements Printer.
func (t *tablePrinter) Flush() error { return t.flush() }

// Close implements Printer.
func (t *tablePrinter) Close() error { return t.flush() }

const none = "<none>"

// maxShown is the maximum length of a name in a table that is not wide. Most names of service
// accounts fit.
const maxShown = 80

func (t *tablePrinter) name(text string) string {
	if !t.wide && len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return escape(text)
}

// behalf returns the users on whose behalf the caller acted: those of the chain without the
// caller, in order. The first user is the one whose authority was handed over.
func (t *tablePrinter) behalf(r *Record) string {
	var names []string
	for i, e := range r.Chain {
		to := r.Caller.Name
		if i+1 < len(r.Chain) {
			to = r.Chain[i+1].By
		}
		// Leave out a token of the same user, because it hands no authority to another user.
		if e.Via == Token && e.By == to {
			continue
		}
		names = append(names, t.name(e.By))
	}
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, " > ")
}

func selectedText(s *selection.AuthorityReference) string {
	if s == nil {
		return none
	}
	parts := []string{string(s.Kind)}
	if s.Namespace != "" {
		parts = append(parts, s.Namespace)
	}
	if s.Name == "" {
		return escape(strings.Join(append(parts, string(s.UID)), "/"))
	}
	return escape(strings.Join(append(parts, s.Name), "/"))
}

func object(r *Record) string {
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

func result(r *Record) string {
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
func handoversText(r *Record) string {
	var out []string
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
	if len(out) == 0 {
		return none
	}
	return strings.Join(out, " > ")
}

// escape quotes text that contains control characters, or " > ", which separates the users of a
// chain.
func escape(text string) string {
	quoted := strconv.Quote(text)
	if quoted[1:len(quoted)-1] != text || strings.Contains(text, " > ") {
		return quoted
	}
	return text
}

// asYAML returns a record as an element of a YAML list. It escapes the control characters that
// JSON allows unescaped and YAML does not.
func asYAML(r *Record) ([]byte, error) {
	data, err := json.Marshal([]*Record{r})
	if err != nil {
		return nil, err
	}
	var escaped strings.Builder
	for _, c := range string(data) {
		if c >= 0x7f && c <= 0x9f || c == 0xfffe || c == 0xffff {
			fmt.Fprintf(&escaped, "\\u%04x", c)
		} else {
			escaped.WriteRune(c)
		}
	}
	return yaml.JSONToYAML([]byte(escaped.String()))
}
