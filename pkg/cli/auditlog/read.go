// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the maximum length of a line in bytes. The API server accepts objects of at most 3
// MiB, and an event contains at most two objects, that of the request and that of the response. So
// no event of the server exceeds the limit.
const MaxLine = 16 << 20

// ErrNotAnEvent is returned by Reader.Use, possibly wrapped, for a line that is not an event.
var ErrNotAnEvent = errors.New("it is not an event of audit.k8s.io/v1")

// Decode decodes a line into an event. version and kind are fields of the event.
func Decode(line []byte, event any, version, kind *string) error {
	if err := json.Unmarshal(line, event); err != nil {
		// The decoder's message is not used, because it may quote secret data of the log.
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			// Readers embed Event, whose name encoding/json puts before its fields.
			return fmt.Errorf("%w: field %q", ErrNotAnEvent, strings.TrimPrefix(typed.Field, "Event."))
		}
		return ErrNotAnEvent
	}
	if *kind != "Event" || *version != "audit.k8s.io/v1" {
		return ErrNotAnEvent
	}
	return nil
}

// Reader reads audit logs.
type Reader struct {
	// Use is called with each event. Its bytes must not be used after Use returns. If Use returns
	// ErrNotAnEvent, it is called with what is inside the value, if that is a known wrapper.
	// Otherwise reading continues after a call of Warn; any other error ends reading.
	Use func(event []byte) error
	// Idle is called after a line when no further input is buffered, so that output can be flushed
	// when a log that still grows has no more lines yet. It may be nil.
	Idle func() error
	// Warn is called with an error for each line that can't be read.
	Warn func(error)
}

// Read reads a log to its end, and returns how many lines or values could not be read. The log may
// be compressed by gzip. It has an event on each line, or JSON over several lines: events, arrays or
// EventLists. An event may be inside a record of a log service or of an agent (see wrappers). An
// incomplete end, which a server may still be writing, is reported to Warn and not counted.
func (r *Reader) Read(name string, log io.Reader) (unread int, err error) {
	input := bufio.NewReaderSize(log, 64<<10)
	if magic, err := input.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(input)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		input = bufio.NewReaderSize(plain, 64<<10)
	}
	if mark, err := input.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		if _, err := input.Discard(len(byteOrderMark)); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	if hasDocuments(input) {
		return r.readDocuments(name, input)
	}
	var line []byte
	for number := 1; ; number++ {
		var end error
		line, end = readLine(input, line[:0])
		if errors.Is(end, errTooLong) {
			unread++
			r.Warn(fmt.Errorf("%s: line %d: %w", name, number, end))
			continue
		}
		if end != nil && !errors.Is(end, io.EOF) {
			return unread, fmt.Errorf("%s: %w", name, end)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			switch failed := r.use(text, 0); {
			case failed == nil:
			case !errors.Is(failed, ErrNotAnEvent):
				return unread, failed
			case end != nil && !json.Valid(text):
				r.Warn(fmt.Errorf("%s: the last line is incomplete", name))
			default:
				unread++
				r.Warn(fmt.Errorf("%s: line %d: %w", name, number, failed))
			}
		}
		if end != nil {
			return unread, nil
		}
		if input.Buffered() == 0 && r.Idle != nil {
			if err := r.Idle(); err != nil {
				return unread, err
			}
		}
	}
}

var errTooLong = fmt.Errorf("the line is longer than %d MiB", MaxLine>>20)

// readLine reads a line into a buffer. It skips a line that is longer than MaxLine, and returns
// errTooLong.
func readLine(input *bufio.Reader, line []byte) ([]byte, error) {
	long := false
	for {
		part, err := input.ReadSlice('\n')
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
