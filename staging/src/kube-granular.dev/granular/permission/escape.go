// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const hex = "0123456789ABCDEF"

// plain reports whether a byte of a parameter needs no escape. Such bytes are the characters of a
// well-formed label key, finalizer or condition type. Every other byte, including the percent
// sign, is escaped: a parenthesis could end the parameter early, an asterisk could be read as a
// pattern, and a space or an unusual rune could be overlooked.
func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-_./:@+=,~", c) >= 0
}

// escape appends s to b, with each byte that is not plain percent-escaped.
func escape(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
}

// fits returns the length in bytes of the longest prefix of s that, once escaped, has at most limit
// bytes. The returned length is that before escaping. The prefix never ends inside a character.
func fits(s string, limit int) int {
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		for _, c := range []byte(s[i : i+size]) {
			limit--
			if !plain(c) {
				limit -= 2
			}
		}
		if limit < 0 {
			return i
		}
		i += size
	}
	return len(s)
}

// unescape reverses escape. It accepts only the output of escape: hexadecimal digits must be upper
// case, and an escape of a plain byte is an error.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		for i := 0; i < len(s); i++ {
			if !plain(s[i]) {
				return "", fmt.Errorf("byte %d must be percent-escaped", i)
			}
		}
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plain(c) {
			b.WriteByte(c)
			continue
		}
		if c != '%' {
			return "", fmt.Errorf("byte %d must be percent-escaped", i)
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("the escape at byte %d is cut short", i)
		}
		hi, lo := strings.IndexByte(hex, s[i+1]), strings.IndexByte(hex, s[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("the escape at byte %d is not two upper-case hexadecimal digits", i)
		}
		d := byte(hi<<4 | lo)
		if plain(d) {
			return "", fmt.Errorf("the escape at byte %d stands for a byte that must not be escaped", i)
		}
		b.WriteByte(d)
		i += 2
	}
	return b.String(), nil
}
