// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the length in bytes of the longest line that is read. The API server takes no
// object of more than 3 MiB, and an event holds two at most.
const MaxLine = 16 << 20

// ErrNotAnEvent is what a Reader's Use returns, wrapped or not, for a line that is no event.
var ErrNotAnEvent = errors.New("it is no event of audit.k8s.io/v1")

// Reader reads one log after another.
type Reader struct {
	// Use is called with each line that is not empty, without its end. The line is good until
	// Use returns. An error that is ErrNoEvent is a warning; any other ends reading.
	Use func(line []byte) error
	// Idle, unless nil, is called when no further line is there yet.
	Idle func() error
	// Warn is told which lines can't be read, and why.
	Warn func(error)
}

// Read reads a log to its end, and returns how many lines could not be read. The log may be
// compressed by gzip. The last line may be unfinished, as it is while a server writes it; it
// is told to Warn and not counted.
func (r *Reader) Read(name string, log io.Reader) (unread int, err error) {
	in := bufio.NewReaderSize(log, 64<<10)
	if magic, err := in.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		in = bufio.NewReaderSize(plain, 64<<10)
	}
	var line []byte
	for number := 1; ; number++ {
		var end error
		line, end = readLine(in, line[:0])
		if errors.Is(end, errTooLong) {
			unread++
			r.Warn(fmt.Errorf("%s: line %d: %w", name, number, end))
			continue
		}
		if end != nil && !errors.Is(end, io.EOF) {
			return unread, fmt.Errorf("%s: %w", name, end)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			switch failed := r.Use(text); {
			case failed == nil:
			case !errors.Is(failed, ErrNotAnEvent):
				return unread, failed
			case end != nil:
				r.Warn(fmt.Errorf("%s: the last line is unfinished", name))
			default:
				unread++
				r.Warn(fmt.Errorf("%s: line %d: %w", name, number, failed))
			}
		}
		if end != nil {
			return unread, nil
		}
		if in.Buffered() == 0 && r.Idle != nil {
			if err := r.Idle(); err != nil {
				return unread, err
			}
		}
	}
}

var errTooLong = fmt.Errorf("it is longer than %d MiB", MaxLine>>20)

// readLine reads a line into a buffer. A line that is too long is read to its end, and left out.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine; !long {
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
