// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"

	"kube-granular.dev/api/printing"
)

// Steps draws, on one line of a terminal, what is being read and how much of it. Nil Steps draw nothing.
type Steps struct {
	out   io.Writer
	drawn bool
}

// NewSteps returns Steps. It returns nil if out is nil; callers pass nil if there is no terminal.
func NewSteps(out io.Writer) *Steps {
	if out == nil {
		return nil
	}
	return &Steps{out: out}
}

// Step draws what is being read, and how many objects of it are read.
func (s *Steps) Step(what string, done int) {
	if s == nil {
		return
	}
	if s.drawn = true; done == 0 {
		printing.Fprintf(s.out, "\r\x1b[Kreading %s", what)
		return
	}
	printing.Fprintf(s.out, "\r\x1b[Kreading %s: %d", what, done)
}

// Clear removes the line from the terminal, so that other output can follow.
func (s *Steps) Clear() {
	if s != nil && s.drawn {
		printing.Fprintf(s.out, "\r\x1b[K")
		s.drawn = false
	}
}
