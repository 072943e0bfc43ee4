// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is the highest number of problems that are reported for one schema.
const MaxProblems = 20

// Step is one step from the root of a schema to a schema inside it: to a named field, or, if
// Elem is set, to the elements of a map or a list.
type Step struct {
	Field string
	Elem  bool
}

// Problem describes why the permission extensions at one place of a schema can't be enforced. It
// never contains the text that the author wrote there.
type Problem struct {
	// Place is the path from the root to the place. It is empty for the root, and for a problem
	// that has no single place.
	Place []Step
	// Extension is the vendor extension at fault, empty if no single one is.
	Extension string
	// Reason is a sentence, or the end of one that begins with the extension.
	Reason string
}

func (p *Problem) Error() string {
	var b strings.Builder
	if len(p.Place) > 0 {
		for _, s := range p.Place {
			if s.Elem {
				b.WriteString("[*]")
			} else {
				b.WriteString("." + s.Field)
			}
		}
		b.WriteString(": ")
	}
	if p.Extension != "" {
		b.WriteString(p.Extension + ": ")
	}
	return b.String() + p.Reason
}

// Problems has at least one problem. They are in the order in which the compiler met them.
type Problems []*Problem

func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", p[0], len(p)-1)
}

// ProblemsOf returns the problems in an error of Compile or ByKind. If the error has none,
// ProblemsOf returns one Problem without a place, whose Reason is the text of the error.
func ProblemsOf(err error) Problems {
	if err == nil {
		return nil
	}
	var problems Problems
	if errors.As(err, &problems) {
		return problems
	}
	return Problems{{Reason: err.Error()}}
}

// fault is a problem without its place.
type fault struct {
	extension, reason string
}

func (f *fault) Error() string { return f.reason }

func faultf(extension, format string, args ...any) error {
	return &fault{extension: extension, reason: fmt.Sprintf(format, args...)}
}

// errTooMany ends a compilation that has reported enough problems, or can't continue.
var errTooMany = errors.New("too many problems")

// report adds a problem at a place to the list of problems, if err is not nil. It returns
// errTooMany if there are now MaxProblems problems. Before that it returns nil, so that the
// compilation continues and an author sees more than the first problem.
func (c *compiler) report(path *schemaPath, err error) error {
	if err == nil {
		return nil
	}
	problem := &Problem{Place: path.steps(), Reason: err.Error()}
	var f *fault
	if errors.As(err, &f) {
		problem.Extension = f.extension
	}
	if c.problems = append(c.problems, problem); len(c.problems) >= MaxProblems {
		return errTooMany
	}
	return nil
}

// schemaPath is the path from the root to a schema, as a linked list with the last step first. The
// path of the root is nil.
type schemaPath struct {
	above *schemaPath
	step  Step
}

func (w *schemaPath) field(name string) *schemaPath {
	return &schemaPath{above: w, step: Step{Field: name}}
}
func (w *schemaPath) elem() *schemaPath { return &schemaPath{above: w, step: Step{Elem: true}} }

func (w *schemaPath) steps() []Step {
	var out []Step
	for ; w != nil; w = w.above {
		out = append(out, w.step)
	}
	slices.Reverse(out)
	return out
}

func (w *schemaPath) depth() int {
	n := 0
	for ; w != nil; w = w.above {
		n++
	}
	return n
}
