// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/cli/roletest/judge"
)

// Formats are the output formats. The first one is the default.
var Formats = []string{"table", "wide", "json", "junit", "github"}

// Print writes reports in one of Formats.
func Print(out io.Writer, format string, reports []*judge.Report) error {
	switch format {
	case "json":
		return printJSON(out, reports)
	case "junit":
		return printJUnit(out, reports)
	case "github":
		return printGitHub(out, reports)
	}
	return printTable(printing.NewPage(out, format == "wide"), reports)
}

// problem is one reason for which a test could not be run.
type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// problems returns the reasons for which a test could not be run.
func problems(r *judge.Report) []problem {
	var out []problem
	for _, err := range flat(r.Problem) {
		var m *format.Mistake
		if !errors.As(err, &m) {
			out = append(out, problem{File: r.File, Message: err.Error()})
			continue
		}
		message := m.Message
		if m.Field != "" {
			message = m.Field + ": " + message
		}
		out = append(out, problem{m.File, m.Line, message})
	}
	return out
}

// flat returns the errors that were joined.
func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, one := range joined.Unwrap() {
			out = append(out, flat(one)...)
		}
		return out
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// Counts are the numbers of cases by outcome, and of what else fails a test.
type Counts struct {
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Errors   int `json:"errors"`
	Loose    int `json:"loose"`
	Problems int `json:"problems"`
	// Differs counts cases in which an export is knowingly weaker. They fail no test.
	Differs int `json:"differs,omitempty"`
}

// Count counts the results.
func Count(reports []*judge.Report) Counts {
	c := Counts{}
	for _, r := range reports {
		for i := range r.Cases {
			switch r.Cases[i].Outcome {
			case judge.Passed:
				c.Passed++
			case judge.Failed:
				c.Failed++
			case judge.Differs:
				c.Differs++
			default:
				c.Errors++
			}
		}
		c.Loose += len(r.Loose)
		c.Problems += len(problems(r))
	}
	return c
}

func (c Counts) String() string {
	text := fmt.Sprintf("%d passed, %d failed, %d errors", c.Passed, c.Failed, c.Errors)
	if c.Differs > 0 {
		text += fmt.Sprintf(", %d differences", c.Differs)
	}
	if c.Loose > 0 {
		text += fmt.Sprintf(", %d parts of roles that no case needs", c.Loose)
	}
	if c.Problems > 0 {
		text += fmt.Sprintf(", %d problems", c.Problems)
	}
	return text
}

func printJSON(out io.Writer, reports []*judge.Report) error {
	type report struct {
		*judge.Report
		Problems []problem `json:"problems,omitempty"`
	}
	all := struct {
		Counts Counts   `json:"counts"`
		Tests  []report `json:"tests"`
	}{Counts: Count(reports), Tests: []report{}}
	for _, r := range reports {
		all.Tests = append(all.Tests, report{r, problems(r)})
	}
	return printing.JSON(out, all)
}

// printTable prints a table for each test, with a row for each case, and below what there is to say about
// each case that did not pass. Those texts are never shortened.
func printTable(page *printing.Page, reports []*judge.Report) error {
	header := []string{"LINE", "RESULT", "SUBJECT", "REQUEST", "EXPECTED"}
	if page.Wide() {
		header = append(header, "ANSWER")
	}
	for _, r := range reports {
		var rows [][]string
		for i := range r.Cases {
			c := &r.Cases[i]
			what := c.Request
			if c.Name != "" {
				what = c.Name
			}
			row := []string{strconv.Itoa(c.Line), string(c.Outcome), c.Subject, what, c.Expect}
			if page.Wide() {
				row = append(row, c.Answer)
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			continue
		}
		if err := errors.Join(printing.Fprintf(page, "%s\n", r.File), page.Table(header, rows)); err != nil {
			return err
		}
	}
	errs := []error{page.Close()}
	say := func(place string, format string, args ...any) {
		text := printing.Sprintf(format, args...)
		errs = append(errs, printing.Fprintf(page, "%s: %s\n", place, text))
	}
	for _, r := range reports {
		for i := range r.Cases {
			if c := &r.Cases[i]; c.Outcome != judge.Passed {
				say(position(r.File, c.Line), "%s: %s, %s: expected %s: %s", c.Outcome, c.Subject, c.Request, c.Expect, c.Answer)
			}
		}
		for i := range r.Loose {
			say(position(r.Loose[i].File, r.Loose[i].Line), "%s", r.Loose[i].String())
		}
		for _, p := range problems(r) {
			say(position(p.File, p.Line), "%s", p.Message)
		}
		for _, note := range r.Notes {
			say("note", "%s", note)
		}
	}
	return errors.Join(append(errs, printing.Fprintf(page, "%s\n", Count(reports)))...)
}

func position(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Check returns an error if a format is not supported.
func Check(format string) error {
	if slices.Contains(Formats, format) {
		return nil
	}
	return fmt.Errorf("--output: %q is not supported, use one of %s", format, strings.Join(Formats, ", "))
}
