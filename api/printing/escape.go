// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Escape returns text with Go's escape sequences in place of all characters that are not printable:
// control characters, line breaks, bidirectional marks, invisible characters, spaces other than the
// ASCII one, and bytes that are not UTF-8. If there are any, it also doubles backslashes. All other
// text stays as it is.
func Escape(text string) string {
	if isPrintable(text) {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Cell returns text for a cell of a table. Normal text stays as it is. Text that could be taken for
// something else is quoted, with escapes as in Go: text that is not printable, text with the spaces
// that separate columns, and text that looks quoted or shortened. So two texts never have the same
// cell.
func Cell(text string) string {
	if isPrintable(text) && !strings.HasPrefix(text, `"`) && strings.TrimSpace(text) == text &&
		!strings.Contains(text, "  ") && !strings.Contains(text, ellipsis) {
		return text
	}
	return strconv.Quote(text)
}

// isPrintable reports whether text is UTF-8 and consists of printable characters. The only space
// that is printable is the ASCII one.
func isPrintable(text string) bool {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(text)
}
