// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"
	"cmp"
)

// compareElements compares two encoded path elements in the order of fieldpath.PathElement, and
// returns a negative number, zero or a positive number like cmp.Compare.
func compareElements(a, b []byte) int {
	if a[0] != b[0] {
		return cmp.Compare(a[0], b[0]) // the letters f, k and v sort in the right order
	}
	a, kind, b := a[2:], a[0], b[2:]
	switch kind {
	case 'k':
		return compareKeys(a, b)
	case 'v':
		return compareScalars(a, b)
	}
	return bytes.Compare(a, b)
}

// compareKeys compares the encoded key fields of two list elements, one field after the other:
// first the names of the two fields, then their values. If all fields of one element equal those
// of the other, which has more, the element with fewer fields is less.
func compareKeys(a, b []byte) int {
	for {
		name, value, restOfA := firstKey(a)
		name2, value2, restOfB := firstKey(b)
		if c := bytes.Compare(name, name2); c != 0 {
			return c
		}
		if c := compareScalars(value, value2); c != 0 {
			return c
		}
		a, b = restOfA, restOfB
		if len(a) < 2 || len(b) < 2 {
			return cmp.Compare(min(len(a), 2), min(len(b), 2))
		}
	}
}

// firstKey returns the name and value of the first key field in s, and the rest of s after them. s
// begins with the opening brace, or with the comma before a key field.
func firstKey(s []byte) (name, value, rest []byte) {
	s = s[1+len(quote):]
	end := bytes.IndexByte(s, '\\')
	name, s = s[:end], s[end+len(quote)+1:]
	end, _ = readScalar(s, 0)
	return name, s[:end], s[end:]
}

// compareScalars compares two encoded scalars. Numbers come before strings, strings before
// booleans, and false before true.
func compareScalars(a, b []byte) int {
	x, y := rank(a), rank(b)
	switch {
	case x != y:
		return cmp.Compare(x, y)
	case x == 0:
		return cmp.Compare(number(a), number(b))
	}
	// The closing quote of each string is removed. If it stayed, it would be compared with a
	// character of a longer string that begins with the shorter one.
	return bytes.Compare(bytes.TrimSuffix(a, quote), bytes.TrimSuffix(b, quote))
}

func rank(s []byte) int {
	switch s[0] {
	case '\\':
		return 1
	case 't', 'f':
		return 2
	}
	return 0
}

func number(s []byte) (n int64) {
	digits := bytes.TrimPrefix(s, []byte("-"))
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(s) {
		return -n
	}
	return n
}
