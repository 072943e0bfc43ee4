// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// byteOrderMark is what some editors and exports write before the first character of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// hasDocuments reports whether a log is JSON over several lines: an array, or objects of which each
// begins with a line of its own. Any other log has one value on each line.
func hasDocuments(input *bufio.Reader) bool {
	for size := 1; size <= input.Size(); size++ {
		head, err := input.Peek(size)
		text := bytes.TrimLeft(head, " \t\r\n")
		switch {
		case len(text) == 0 && err == nil:
			continue
		case len(text) > 0 && text[0] == '[':
			return true
		case len(text) == 0 || text[0] != '{':
			return false
		}
		switch rest := bytes.TrimLeft(text[1:], " \t\r"); {
		case len(rest) > 0:
			return rest[0] == '\n'
		case err != nil:
			return false
		}
	}
	return false
}

// readDocuments reads JSON values that may have several lines. It holds one element of an array, or
// of the list of an object, at a time. After a syntax error the rest can't be read.
func (r *Reader) readDocuments(name string, log io.Reader) (unread int, err error) {
	decoder, number := json.NewDecoder(log), 0
	element := func(format string) error {
		number++
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		failed := r.use(value, 0)
		if !errors.Is(failed, ErrNotAnEvent) {
			return failed
		}
		unread++
		r.Warn(fmt.Errorf("%s: %s %d: %w", name, format, number, failed))
		return nil
	}
	for {
		start, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			return unread, nil
		case err == nil && start == json.Delim('['):
			for err == nil && decoder.More() {
				err = element("element")
			}
			if err == nil {
				_, err = decoder.Token()
			}
		case err == nil && start == json.Delim('{'):
			err = r.readObject(decoder, &number, element, func(failed error) {
				unread++
				r.Warn(fmt.Errorf("%s: object %d: %w", name, number, failed))
			})
		case err == nil:
			err = errNoObject
		}
		var syntax *json.SyntaxError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			r.Warn(fmt.Errorf("%s: the last value is incomplete", name))
			return unread, nil
		case errors.As(err, &syntax), errors.Is(err, errNoObject):
			r.Warn(fmt.Errorf("%s: byte %d: it is not JSON, and the rest of the log is not read", name, decoder.InputOffset()))
			return unread + 1, nil
		default:
			return unread, fmt.Errorf("%s: %w", name, err)
		}
	}
}

var errNoObject = errors.New("the value is neither an object nor an array")

// readObject reads an object whose opening brace was read. If it has a list of events, each of them
// is used as it is read.
func (r *Reader) readObject(decoder *json.Decoder, number *int, element func(string) error, fail func(error)) error {
	object, listed := map[string]json.RawMessage{}, false
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if key == "items" && !listed {
			listed = true
			if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
				return errors.Join(err, errNoObject)
			}
			for decoder.More() {
				if err := element("item"); err != nil {
					return err
				}
			}
			if _, err := decoder.Token(); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		object[key] = value
	}
	if _, err := decoder.Token(); err != nil || listed {
		return err
	}
	*number++
	value, err := json.Marshal(object)
	if err != nil {
		return err
	}
	failed := r.use(value, 0)
	if errors.Is(failed, ErrNotAnEvent) {
		fail(failed)
		return nil
	}
	return failed
}
