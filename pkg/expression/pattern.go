// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"regexp"
	"regexp/syntax"
)

// longPrecision matches a precision of more than two digits in a format, such as %.100f.
var longPrecision = regexp.MustCompile(`\.[0-9]{3}`)

// patternSize returns about how many instructions a compiled regular expression has. It does not
// compile it: x{1000} is five bytes, and a thousand instructions.
func patternSize(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(parsed), nil
}

func instructions(e *syntax.Regexp) int {
	count := 1
	switch e.Op {
	case syntax.OpLiteral, syntax.OpCharClass:
		count += len(e.Rune)
	}
	for _, sub := range e.Sub {
		count += instructions(sub)
	}
	if e.Op == syntax.OpRepeat {
		count *= max(e.Min+1, e.Max)
	}
	return count
}
