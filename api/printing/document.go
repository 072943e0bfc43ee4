// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// JSON prints a value as an indented document.
func JSON(w io.Writer, value any) error {
	text, err := MarshalJSON(value)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	_, err = w.Write(append(out.Bytes(), '\n'))
	return err
}

// MarshalJSON encodes a value as JSON. Characters that are not printable are escaped.
func MarshalJSON(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil || isPrintable(string(text)) {
		return text, err
	}
	// Compact JSON has such characters in strings only.
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case strconv.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

// YAML prints each value as a document.
func YAML(w io.Writer, documents ...any) error {
	for i, value := range documents {
		text, err := MarshalYAML(value)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// MarshalYAML encodes a value as YAML, as it is encoded as JSON. Strings that are not printable, or
// have line breaks, are quoted on one line.
func MarshalYAML(value any) ([]byte, error) {
	text, err := MarshalJSON(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	if arePrintable(plain) {
		return yaml.JSONToYAML(text)
	}
	var out strings.Builder
	if err := writeYAML(&out, "", plain); err != nil {
		return nil, err
	}
	return []byte(strings.TrimPrefix(out.String(), "\n") + "\n"), nil
}

// arePrintable reports whether all strings and keys in a JSON value are printable.
func arePrintable(value any) bool {
	switch v := value.(type) {
	case string:
		return isPrintable(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !arePrintable(e) })
	case map[string]any:
		for key, e := range v {
			if !isPrintable(key) || !arePrintable(e) {
				return false
			}
		}
	}
	return true
}

// maxSimpleKey is the length in bytes from which a key needs a question mark before it. YAML limits
// other keys to 1024 characters.
const maxSimpleKey = 500

// writeYAML writes a JSON value that follows a key, or a dash, in YAML: a scalar behind a space, and
// the parts of a map or a list on lines that begin with indent. A quoted string has the same escapes
// in Go and in YAML.
func writeYAML(out *strings.Builder, indent string, value any) error {
	part := func(key string, e any) error {
		out.WriteString("\n" + indent + key)
		return writeYAML(out, indent+"  ", e)
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			out.WriteString(" {}")
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text := strconv.Quote(key) + ":"
			if len(text) > maxSimpleKey {
				text = "? " + strconv.Quote(key) + "\n" + indent + ":"
			}
			if err := part(text, v[key]); err != nil {
				return err
			}
		}
	case []any:
		if len(v) == 0 {
			out.WriteString(" []")
		}
		for _, e := range v {
			if err := part("-", e); err != nil {
				return err
			}
		}
	case string:
		out.WriteString(" " + strconv.Quote(v))
	default: // a number, a Boolean or null
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		out.WriteString(" " + string(text))
	}
	return nil
}
