// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// never and always are the conditions that the functions below simplify.
const (
	never  = "false"
	always = "true"
)

// or returns a CEL condition that holds if one of the conditions does.
func or(conditions ...string) string { return join(" || ", never, always, conditions) }

// and returns a CEL condition that holds if all conditions do.
func and(conditions ...string) string { return join(" && ", always, never, conditions) }

// join leaves out the neutral condition, and returns the dominant one if it is there.
func join(operator, neutral, dominant string, conditions []string) string {
	var out []string
	for _, c := range conditions {
		if c == dominant {
			return dominant
		}
		if c != neutral && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	switch len(out) {
	case 0:
		return neutral
	case 1:
		return out[0]
	}
	for i, c := range out {
		out[i] = grouped(c)
	}
	return strings.Join(out, operator)
}

// grouped returns a condition in parentheses if it has an operator outside of parentheses and quotes.
func grouped(condition string) string {
	depth, quoted := 0, false
	for i := 0; i < len(condition); i++ {
		switch c := condition[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth == 0 && (c == '|' || c == '&' || c == '?' && i+1 < len(condition) && condition[i+1] == ' '):
			return "(" + condition + ")"
		}
	}
	return condition
}

// quote returns a CEL string literal. All bytes that are not printable ASCII are escaped, so a name can't
// end a literal or a line of the file.
func quote(text string) string { return strconv.QuoteToASCII(text) }

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// words can't be selected like a field in CEL.
var words = []string{"in", "true", "false", "null"}

// field returns the optional value of a field of a map.
func field(object, name string) string {
	if !identifier.MatchString(name) || slices.Contains(words, name) {
		return at(object, quote(name))
	}
	return object + ".?" + name
}

// at returns the optional value of a key of a map.
func at(object, key string) string { return object + "[?" + key + "]" }

// bind returns body, in which name stands for value.
func bind(name, value, body string) string { return "[" + value + "].all(" + name + ", " + body + ")" }
