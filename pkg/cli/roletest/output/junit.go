// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/xml"
	"fmt"
	"io"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/roletest/judge"
)

// These types are the part of JUnit's format that every reader knows.
type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string  `xml:"name,attr"`
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Cases    []entry `xml:"testcase"`
	Notes    string  `xml:"system-out,omitempty"`
}

type entry struct {
	Class   string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	File    string `xml:"file,attr"`
	Line    int    `xml:"line,attr,omitempty"`
	Failure *said  `xml:"failure"`
	Error   *said  `xml:"error"`
}

type said struct {
	Message string `xml:"message,attr"`
}

func printJUnit(out io.Writer, reports []*judge.Report) error {
	all := suites{}
	for _, r := range reports {
		all.Suites = append(all.Suites, suiteOf(r))
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return printing.Fprintf(out, "%s%s\n", printing.Escaped(xml.Header), printing.Escaped(text))
}

func suiteOf(r *judge.Report) suite {
	file := printing.Escape(r.File)
	s := suite{Name: file}
	for i := range r.Cases {
		c := &r.Cases[i]
		e := entry{Class: file, Name: printing.Escape(title(c)), File: file, Line: c.Line}
		message := &said{printing.Escape(fmt.Sprintf("expected %s, got %s", c.Expect, c.Answer))}
		switch c.Outcome {
		case judge.Passed, judge.Differs:
		case judge.Failed:
			e.Failure = message
		default:
			e.Error = &said{printing.Escape(c.Answer)}
		}
		s.Cases = append(s.Cases, e)
	}
	for i := range r.Loose {
		l := &r.Loose[i]
		s.Cases = append(s.Cases, entry{Class: file, Name: printing.Escape(l.String()), File: printing.Escape(l.File), Line: l.Line,
			Failure: &said{printing.Escape(l.String())}})
	}
	for _, p := range problems(r) {
		s.Cases = append(s.Cases, entry{Class: file, Name: "given", File: printing.Escape(p.File), Line: p.Line,
			Error: &said{printing.Escape(p.Message)}})
	}
	for i := range s.Cases {
		if s.Cases[i].Failure != nil {
			s.Failures++
		}
		if s.Cases[i].Error != nil {
			s.Errors++
		}
	}
	s.Tests = len(s.Cases)
	for _, note := range r.Notes {
		s.Notes += printing.Escape(note) + "\n"
	}
	return s
}

// title names a case. Two cases of a file differ at least by their lines.
func title(c *judge.Result) string {
	if c.Name != "" {
		return c.Name
	}
	return fmt.Sprintf("%s: %s, %s", c.Subject, c.Request, c.Expect)
}
