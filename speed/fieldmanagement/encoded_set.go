// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import "bytes"

// encodedSet is a set of field paths in the encoding of managedFields (FieldsV1). It is scanned
// but not decoded.
type encodedSet struct {
	raw []byte
	// nodes are the path elements in the order of raw. An element comes before the elements below
	// it.
	nodes []node
}

// node is one path element of an encodedSet.
type node struct {
	// raw[start:colon] is the path element. raw[start-1:end] is the element in quotes, followed by
	// everything below it.
	start, colon, end int32
	// after is the index of the next node that is not below this one.
	after int32
	// member is true if the set contains the path that ends with this element.
	member bool
}

const maxRaw = 1 << 24

// read scans an encoded set. It returns true only if the set is encoded exactly as upstream's
// encoder would encode it; upstream decodes such a set without an error. read returns false also
// for rare forms that it does not examine, though their encoding may be right: escapes, characters
// that some encoders escape, fractions and long numbers, null, indices, and values that are lists
// or maps.
func read(raw []byte) (*encodedSet, bool) {
	if len(raw) > maxRaw {
		return nil, false
	}
	f := &encodedSet{raw: raw, nodes: make([]node, 0, len(raw)/20)}
	end, _, ok := f.object(0, 0)
	return f, ok && end == len(raw)
}

var memberPrefix = []byte(`".":{},`)

// object scans the JSON object with everything below one path element. position is the index of its
// opening brace, and depth the number of path elements above. object returns the index after the
// closing brace, and whether the set contains the path that ends with the element. ok is false if
// read must return false. The set never contains the path of the root.
func (f *encodedSet) object(position, depth int) (end int, member, ok bool) {
	raw := f.raw
	if depth > maxDepth || position+1 >= len(raw) || raw[position] != '{' {
		return 0, false, false
	}
	position++
	if raw[position] == '}' {
		return position + 1, true, true
	}
	if member = depth > 0 && bytes.HasPrefix(raw[position:], memberPrefix); member {
		position += len(memberPrefix)
	}
	for previous := -1; ; {
		if position >= len(raw) || raw[position] != '"' {
			return 0, false, false
		}
		colon, ok := readElement(raw, position+1)
		if !ok || colon+2 >= len(raw) || raw[colon] != '"' || raw[colon+1] != ':' {
			return 0, false, false
		}
		n := len(f.nodes)
		f.nodes = append(f.nodes, node{start: int32(position + 1), colon: int32(colon)})
		if previous >= 0 && compareElements(f.key(previous), f.key(n)) >= 0 {
			return 0, false, false
		}
		previous = n
		end, below, ok := f.object(colon+2, depth+1)
		if !ok || end >= len(raw) {
			return 0, false, false
		}
		f.nodes[n].end, f.nodes[n].after, f.nodes[n].member = int32(end), int32(len(f.nodes)), below
		switch position = end + 1; raw[end] {
		case ',':
		case '}':
			return position, member, true
		default:
			return 0, false, false
		}
	}
}

// members returns the number of paths that the set contains.
func (f *encodedSet) members() (n int) {
	for i := range f.nodes {
		if f.nodes[i].member {
			n++
		}
	}
	return n
}

func (f *encodedSet) key(n int) []byte { return f.raw[f.nodes[n].start:f.nodes[n].colon] }

// unescaped are the characters that no encoder escapes.
var unescaped = func() (out [256]bool) {
	for c := ' '; c <= '~'; c++ {
		out[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return out
}()

// readElement scans the path element that begins at index position, and returns the index after its last
// character. ok is false if the encoding of the element is not known to be upstream's.
func readElement(raw []byte, position int) (end int, ok bool) {
	if position+2 >= len(raw) || raw[position+1] != ':' {
		return 0, false
	}
	kind, position := raw[position], position+2
	switch kind {
	case 'f':
		for position < len(raw) && unescaped[raw[position]] {
			position++
		}
		return position, position < len(raw)
	case 'v':
		return readScalar(raw, position)
	case 'k':
		return readKeys(raw, position)
	}
	return 0, false
}

var quote = []byte(`\"`)

// readKeys scans the JSON object, beginning at index position, with the key fields that identify an
// element of a list. It returns the index after the closing brace.
func readKeys(raw []byte, position int) (end int, ok bool) {
	if raw[position] != '{' {
		return 0, false
	}
	for previous := []byte(nil); ; {
		name := position + 1
		if position, ok = readQuoted(raw, name); !ok || position >= len(raw) || raw[position] != ':' {
			return 0, false
		}
		bare := raw[name+len(quote) : position-len(quote)]
		if previous != nil && bytes.Compare(previous, bare) >= 0 {
			return 0, false
		}
		previous = bare
		if position, ok = readScalar(raw, position+1); !ok || position >= len(raw) {
			return 0, false
		}
		switch raw[position] {
		case ',':
		case '}':
			return position + 1, true
		default:
			return 0, false
		}
	}
}

// readQuoted scans a JSON string that is inside another JSON string, so that its quotes have a
// backslash before them. It begins at index position. readQuoted returns the index after the closing
// quote.
func readQuoted(raw []byte, position int) (end int, ok bool) {
	if position >= len(raw) || !bytes.HasPrefix(raw[position:], quote) {
		return 0, false
	}
	position += len(quote)
	for position < len(raw) && unescaped[raw[position]] {
		position++
	}
	return position + len(quote), position < len(raw) && bytes.HasPrefix(raw[position:], quote)
}

// maxDigits is the highest number of digits of a whole number that read accepts. Upstream decodes
// numbers as floating-point numbers, which always preserve this many digits.
const maxDigits = 15

var trueText, falseText = []byte("true"), []byte("false")

func readScalar(raw []byte, position int) (end int, ok bool) {
	if position >= len(raw) {
		return 0, false
	}
	switch raw[position] {
	case '\\':
		return readQuoted(raw, position)
	case 't':
		return position + len(trueText), bytes.HasPrefix(raw[position:], trueText)
	case 'f':
		return position + len(falseText), bytes.HasPrefix(raw[position:], falseText)
	}
	end = position
	if raw[end] == '-' {
		end++
	}
	first := end
	for end < len(raw) && '0' <= raw[end] && raw[end] <= '9' {
		end++
	}
	digits := end - first
	return end, digits > 0 && digits <= maxDigits && (raw[first] != '0' || digits == 1 && first == position)
}
