// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"io"

	"kube-granular.dev/pkg/cli/auditlog"
)

// Counts are how many events there were, how many of them were printed, and how many lines
// could not be read.
type Counts struct {
	Events, Printed, Unread int
}

// Read prints those records of a log that are asked for, in the order of the log. What can't be
// read is told to warn, and reading goes on; an error is one of the log itself or of the
// printer. auditlog.Reader has which logs there may be.
func Read(name string, log io.Reader, f *Filter, p Printer, warn func(error)) (Counts, error) {
	var n Counts
	in := auditlog.Reader{
		Warn: warn,
		// Who reads along with a server sees each record when it comes.
		Idle: p.Flush,
		Use: func(line []byte) error {
			r, err := decode(line)
			if err != nil {
				return err
			}
			n.Events++
			if r == nil || !f.Matches(r) {
				return nil
			}
			n.Printed++
			return p.Print(r)
		},
	}
	var err error
	n.Unread, err = in.Read(name, log)
	return n, err
}
