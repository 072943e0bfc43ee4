// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
)

// General is the verb that lets a request through although the caller does not hold the ordinary
// verb, such as update. Each change of the request then needs a permission (KEP-3617, "API Server
// Additional Plumbing and Checks"). General covers no field on its own.
const General = "granular"

const prefix = General + ":"

// MaxParameterLength is the length of the longest escaped parameter, in bytes. A domain of 253
// bytes fits. The limit bounds what is sent to authorizers and logged, whatever key a caller
// sends.
const MaxParameterLength = 256

// ErrTooLong means that a parameter has more than MaxParameterLength bytes after escaping.
var ErrTooLong = fmt.Errorf("the parameter is longer than %d bytes", MaxParameterLength)

// CheckParameter returns ErrTooLong if an unescaped parameter has more than MaxParameterLength
// bytes after escaping.
func CheckParameter(parameter string) error {
	if fits(parameter, MaxParameterLength) < len(parameter) {
		return ErrTooLong
	}
	return nil
}

// Head returns the beginning of an unescaped parameter, for messages about a parameter that is too
// long. The result is escaped, has at most limit bytes and never ends inside an escape or a
// UTF-8 character.
func Head(parameter string, limit int) string {
	var b strings.Builder
	escape(&b, parameter[:fits(parameter, limit)])
	return b.String()
}

// Verb is one permission verb, such as granular:label(example.com). The zero value is the general
// verb, granular.
type Verb struct {
	// Permission is the name, including the scope. Empty means the general verb.
	Permission string
	// Parameter is the unescaped parameter. It may be empty. CheckParameter must accept it.
	Parameter string
	// Parameterized is set if the verb has a parameter. It distinguishes label() from label.
	Parameterized bool
}

// String returns the only spelling of the verb, as authorizers get it.
func (v Verb) String() string {
	if v.Permission == "" {
		return General
	}
	if !v.Parameterized {
		return prefix + v.Permission
	}
	var b strings.Builder
	b.Grow(len(prefix) + len(v.Permission) + len(v.Parameter) + 2)
	b.WriteString(prefix)
	b.WriteString(v.Permission)
	b.WriteByte('(')
	escape(&b, v.Parameter)
	b.WriteByte(')')
	return b.String()
}

// IsVerb reports whether a verb is granular, or begins with "granular:", and so authorizes single
// fields. Such a verb need not be valid: Parse says why it is not.
func IsVerb(s string) bool { return s == General || strings.HasPrefix(s, prefix) }

// Parse parses a verb. It accepts only what String returns, so that no two strings in a role mean
// the same verb. Errors never repeat the input.
func Parse(s string) (Verb, error) {
	if s == General {
		return Verb{}, nil
	}
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return Verb{}, fmt.Errorf("permission verb: must be %q or begin with %q", General, prefix)
	}
	name, parameter, parameterized := strings.Cut(rest, "(")
	if err := Validate(name); err != nil {
		return Verb{}, fmt.Errorf("permission verb: %w", err)
	}
	v := Verb{Permission: name, Parameterized: parameterized}
	if !parameterized {
		return v, nil
	}
	escaped, ok := strings.CutSuffix(parameter, ")")
	if !ok {
		return Verb{}, fmt.Errorf("permission verb: the parameter must end with a closing parenthesis")
	}
	if len(escaped) > MaxParameterLength {
		return Verb{}, fmt.Errorf("permission verb: %w", ErrTooLong)
	}
	var err error
	if v.Parameter, err = unescape(escaped); err != nil {
		return Verb{}, fmt.Errorf("permission verb: parameter: %w", err)
	}
	return v, nil
}
