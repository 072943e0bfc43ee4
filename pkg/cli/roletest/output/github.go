// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/roletest/judge"
)

// GitHub reads commands from the log: ::error file=F,line=L,title=T::MESSAGE. A command ends with its
// line, and in a property the characters : and , have a meaning.
var (
	message  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// printGitHub marks the lines of what failed. The last line says how many cases there are. It can't be a
// command.
func printGitHub(out io.Writer, reports []*judge.Report) error {
	var errs []error
	mark := func(level, file string, line int, title, what string) {
		place := property.Replace(printing.Escape(filepath.ToSlash(file)))
		if line > 0 {
			place = fmt.Sprintf("%s,line=%d", place, line)
		}
		errs = append(errs, printing.Fprintf(out, "::%s file=%s,title=%s::%s\n", level, place,
			property.Replace(printing.Escape(title)), message.Replace(printing.Escape(what))))
	}
	for _, r := range reports {
		for i := range r.Cases {
			switch c := &r.Cases[i]; c.Outcome {
			case judge.Passed:
			case judge.Differs:
				mark("notice", r.File, c.Line, "an export is weaker", fmt.Sprintf("%s: %s", title(c), c.Answer))
			case judge.Failed:
				mark("error", r.File, c.Line, "a test of a role failed", fmt.Sprintf("%s: got %s", title(c), c.Answer))
			default:
				mark("error", r.File, c.Line, "a test of a role is not valid", fmt.Sprintf("%s: %s", title(c), c.Answer))
			}
		}
		for i := range r.Loose {
			l := &r.Loose[i]
			mark("error", l.File, l.Line, "a role is wider than its tests", l.String())
		}
		for _, p := range problems(r) {
			mark("error", p.File, p.Line, "a test of a role can't run", p.Message)
		}
		for _, note := range r.Notes {
			mark("notice", r.File, 0, "a test of a role", note)
		}
	}
	return errors.Join(append(errs, printing.Fprintf(out, "%s\n", Count(reports)))...)
}
