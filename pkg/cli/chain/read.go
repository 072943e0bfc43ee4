// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read. The API server takes no object of more than 3 MiB,
// and an event holds two at most.
const maxLine = 16 << 20

// Counts are how many events there were, how many of them were printed, and how many lines
// could not be read.
type Counts struct {
	Events, Printed, Unread int
}

// Read prints those records of a log that are asked for, in the order of the log. The log may
// be compressed by gzip. What can't be read is told to warn, and reading goes on; an error is
// one of the log itself or of the printer. The last line may be unfinished, as it is while a
// server writes it.
func Read(name string, log io.Reader, f *Filter, p Printer, warn func(error)) (Counts, error) {
	var n Counts
	in := bufio.NewReaderSize(log, 64<<10)
	if magic, err := in.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return n, fmt.Errorf("%s: %w", name, err)
		}
		in = bufio.NewReaderSize(plain, 64<<10)
	}
	var line []byte
	for number := 1; ; number++ {
		var err error
		line, err = next(in, line[:0])
		if errors.Is(err, errTooLong) {
			n.Unread++
			warn(fmt.Errorf("%s: line %d: %w", name, number, err))
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return n, fmt.Errorf("%s: %w", name, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			r, failed := decode(text)
			switch {
			case failed != nil && errors.Is(err, io.EOF):
				warn(fmt.Errorf("%s: the last line is unfinished", name))
			case failed != nil:
				n.Unread++
				warn(fmt.Errorf("%s: line %d: %w", name, number, failed))
			default:
				n.Events++
				if r != nil && f.Matches(r) {
					n.Printed++
					if err := p.Print(r); err != nil {
						return n, err
					}
				}
			}
		}
		if err != nil {
			return n, nil
		}
		// Who reads along with a server sees each record when it comes.
		if in.Buffered() == 0 {
			if err := p.Flush(); err != nil {
				return n, err
			}
		}
	}
}

var errTooLong = fmt.Errorf("it is longer than %d MiB", maxLine>>20)

// next reads a line into a buffer. A line that is too long is read to its end, and left out.
func next(in *bufio.Reader, line []byte) ([]byte, error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return line[:0], errTooLong
		}
		return line, err
	}
}
