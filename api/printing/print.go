// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Escaped is text in which all data is escaped already. The line breaks in it are those of the
// program.
type Escaped string

// Fprintf prints like fmt.Fprintf. It escapes the arguments, but not the format, which must be a
// constant of the program.
func Fprintf(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, escapedAll(args)...)
	return err
}

// Sprintf formats like fmt.Sprintf. It escapes the arguments, but not the format, which must be a
// constant of the program.
func Sprintf(format string, args ...any) Escaped {
	return Escaped(fmt.Sprintf(format, escapedAll(args)...))
}

// Comment prints a line that is a comment in YAML and in shells.
func Comment(w io.Writer, text string) error { return Fprintf(w, "# %s\n", text) }

// Number is a cell of CSV that is a number and not text.
type Number string

// CSV prints rows of comma-separated values. A cell is text, or a Number. A spreadsheet takes text
// that begins with =, +, - or @ for a formula, so such a text gets a single quote before it.
func CSV(w io.Writer, rows [][]any) error {
	out := csv.NewWriter(w)
	for _, cells := range rows {
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = Escape(fmt.Sprint(c))
			if _, number := c.(Number); !number && row[i] != "" && strings.ContainsRune("=+-@", rune(row[i][0])) {
				row[i] = "'" + row[i]
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Error prints an error that ends the program as one line, or several joined errors as a line each.
func Error(w io.Writer, err error) error { return errorLines(w, "error", err) }

// Warning prints an error that does not end the program, in the same way as Error.
func Warning(w io.Writer, err error) error { return errorLines(w, "warning", err) }

func errorLines(w io.Writer, level Escaped, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && isJoin(err, joined.Unwrap()) {
		for _, e := range joined.Unwrap() {
			if err := errorLines(w, level, e); err != nil {
				return err
			}
		}
		return nil
	}
	return Fprintf(w, "%s: %s\n", level, err)
}

// isJoin reports whether err is what errors.Join returns for all, so that it has no text of its own.
func isJoin(err error, all []error) bool {
	var lines []string
	for _, e := range all {
		lines = append(lines, e.Error())
	}
	return err.Error() == strings.Join(lines, "\n")
}

// escapedAll returns arguments for a format. Numbers and Booleans stay as they are.
func escapedAll(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case Escaped:
			out[i] = string(v)
		case nil:
			out[i] = data("<nil>")
		default:
			if k := reflect.TypeOf(arg).Kind(); k >= reflect.Bool && k <= reflect.Complex128 {
				out[i] = arg
			} else {
				out[i] = data(fmt.Sprint(arg))
			}
		}
	}
	return out
}

// data is text from elsewhere, as an argument of a format.
type data string

// Format implements fmt.Formatter.
func (d data) Format(state fmt.State, verb rune) {
	text := Escape(string(d))
	if verb == 'q' {
		text = string(d) // strconv.Quote escapes it
	}
	fmt.Fprintf(state, fmt.FormatString(state, verb), text)
}
