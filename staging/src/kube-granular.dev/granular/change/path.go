// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"kube-granular.dev/granular/schema"
)

// Step is one step of a Path: to a field, or to an element of a map or list.
type Step struct {
	// Node is the node that the step leads to. It is nil for a field that the tree does not have.
	Node *schema.Node
	// Field is the name of a field. It is empty for an element of a map or list.
	Field string
	// Keys identify an element: the key of a Map, the key values of a ListMap element in the order
	// of its keys, or the value of a Set element. Keys are empty for a field, and for an element
	// of an atomic List, which has no identity.
	Keys []string
}

// Path is the steps from the root to a location in an object.
type Path []Step

// Bounds of what a message shows, in bytes.
const (
	// MaxPathLength is the length of the longest path that a message shows.
	MaxPathLength = 512
	maxKeyLength  = 128
	ellipsis      = "..."
)

// String returns the path as messages show it: printable ASCII, at most MaxPathLength bytes.
func (p Path) String() string {
	var b strings.Builder
	var above *schema.Node
	for _, s := range p {
		s.show(&b, above)
		above = s.Node
	}
	return Shorten(b.String(), MaxPathLength)
}

// show writes a step. above is the node that the step starts from. For the first step, from the
// root, above is nil: the root is an object, so the step leads to a field.
func (s Step) show(b *strings.Builder, above *schema.Node) {
	switch {
	case s.Field != "":
		showField(b, s.Field)
	case len(s.Keys) == 0 || above == nil:
		b.WriteString("[*]")
	default:
		showElement(b, above.Kind, above.Keys(), s.Keys)
	}
}

// showElement writes the keys of an element in brackets.
func showElement(b *strings.Builder, kind schema.NodeKind, names []schema.Key, keys []string) {
	b.WriteByte('[')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		switch {
		case kind == schema.Map:
			b.WriteString(unquotedIfPlain(k))
		case kind == schema.ListMap && i < len(names):
			b.WriteString(names[i].Name + "=" + quoted(k))
		default:
			b.WriteString(quoted(k))
		}
	}
	b.WriteByte(']')
}

// showField writes a field name: with a dot in front, or in brackets if the name could be misread.
func showField(b *strings.Builder, name string) {
	if name == unquotedIfPlain(name) && !strings.ContainsAny(name, "./[]") {
		b.WriteString("." + name)
		return
	}
	b.WriteString("[" + unquotedIfPlain(name) + "]")
}

// unquotedIfPlain returns the key without quotes if the key has 1 to maxKeyLength bytes, all of
// them ASCII letters, digits or one of -_./. Every other key is quoted.
func unquotedIfPlain(key string) string {
	for i := 0; i < len(key); i++ {
		c := key[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_./", c) >= 0) {
			return quoted(key)
		}
	}
	if key == "" || len(key) > maxKeyLength {
		return quoted(key)
	}
	return key
}

// quoted returns a key in quotes, cut to maxKeyLength bytes before escaping.
func quoted(key string) string {
	cut := ""
	if len(key) > maxKeyLength {
		end := maxKeyLength
		for end > maxKeyLength-utf8.UTFMax && !utf8.RuneStart(key[end]) {
			end--
		}
		key, cut = key[:end], ellipsis
	}
	return strconv.QuoteToASCII(key) + cut
}

// Shorten cuts path to at most limit bytes, and never inside an escape. path is a result of String,
// Locate or Outline.
func Shorten(path string, limit int) string {
	if len(path) <= limit {
		return path
	}
	end := 0
	for { // ends before the end of the path, which is longer than limit
		size := 1
		if path[end] == '\\' && end+1 < len(path) {
			switch path[end+1] {
			case 'x':
				size = len(`\x00`)
			case 'u':
				size = len(`\u0000`)
			case 'U':
				size = len(`\U00000000`)
			default:
				size = len(`\"`)
			}
		}
		if end+size > limit-len(ellipsis) {
			break
		}
		end += size
	}
	return path[:end] + ellipsis
}
