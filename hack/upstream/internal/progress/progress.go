// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// quiet is the longest duration of a step that prints no line at its end. every is the interval
// between the lines during a step.
const (
	quiet = 500 * time.Millisecond
	every = 2 * time.Second
)

// Log writes lines about steps to a writer.
type Log struct {
	out io.Writer
	now func() time.Time
}

// New returns a Log that writes to out.
func New(out io.Writer) *Log { return &Log{out: out, now: time.Now} }

// Say writes one line at once.
func (l *Log) Say(format string, args ...any) {
	if l != nil {
		fmt.Fprintf(l.out, format+"\n", args...)
	}
}

// Step is one piece of work with a number of equal parts.
type Step struct {
	log         *Log
	what        string
	total, done int
	begun, last time.Time
	mu          sync.Mutex
}

// Step starts a step. If total is 0, the step has no parts to count. Step then prints a line at
// once, because nothing else is printed until the step ends.
func (l *Log) Step(what string, total int) *Step {
	if l == nil {
		return nil
	}
	s := &Step{log: l, what: what, total: total, begun: l.now()}
	s.last = s.begun
	if total == 0 {
		l.Say("%s ...", what)
	}
	return s
}

// Done counts one part as done.
func (s *Step) Done() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if now := s.log.now(); now.Sub(s.last) >= every {
		s.last = now
		s.log.Say("%s: %d of %d (%.0f s)", s.what, s.done, s.total, now.Sub(s.begun).Seconds())
	}
}

// End ends the step, and prints its duration if it was long or had no parts to count.
func (s *Step) End() {
	if s == nil {
		return
	}
	took := s.log.now().Sub(s.begun)
	switch {
	case s.total == 0:
		s.log.Say("%s: done in %.1f s", s.what, took.Seconds())
	case took >= quiet:
		s.log.Say("%s: %d of %d, done in %.1f s", s.what, s.done, s.total, took.Seconds())
	}
}
