// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"io"

	"kube-granular.dev/pkg/cli/auditlog"
)

// Counts are the numbers of events, of printed records, and of lines that could not be read.
type Counts struct {
	Events, Printed, Unread int
}

// Read prints the selected records of a log, in order. It reports lines that can't be read to
// warn, and returns an error if the log itself or the printer fails. auditlog.Reader documents
// the supported formats.
func Read(name string, log io.Reader, f *Filter, p Printer, warn func(error)) (Counts, error) {
	var n Counts
	reader := auditlog.Reader{
		Warn: warn,
		// Flush when no further line is available yet, so that a user who follows a log sees each
		// record at once.
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
	n.Unread, err = reader.Read(name, log)
	return n, err
}
