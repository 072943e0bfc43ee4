// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// attack is the description of one attempted attack, with the fields that the package comment
// lists.
type attack struct {
	attempt, answer, was string
	heldBy               []string
}

var (
	fieldNames = []string{"Attack", "Answer", "Was", "Held by"}
	fieldLine  = regexp.MustCompile(`^([A-Z][a-z]*(?: [a-z]+)?):(?: (.*))?$`)
)

// parse returns the attacks that a comment describes. The lines of the comment have no comment
// markers.
func parse(comment []string) ([]attack, error) {
	var out []attack
	var fields map[string]string
	last := ""
	end := func() error {
		if fields == nil {
			return nil
		}
		a, err := newAttack(fields)
		out, fields = append(out, a), nil
		return err
	}
	for _, line := range comment {
		line = strings.TrimSpace(line)
		m := fieldLine.FindStringSubmatch(line)
		switch {
		case line == "":
			if err := end(); err != nil {
				return nil, err
			}
		case m != nil && m[1] == "Attack":
			if err := end(); err != nil {
				return nil, err
			}
			fields, last = map[string]string{"Attack": m[2]}, "Attack"
		case m != nil && fields == nil && slices.Contains(fieldNames, m[1]):
			return nil, fmt.Errorf("%q belongs to no attack", line)
		case m != nil && fields != nil:
			if !slices.Contains(fieldNames, m[1]) {
				return nil, fmt.Errorf("attack %q: unknown field %q", fields["Attack"], m[1])
			}
			if _, ok := fields[m[1]]; ok {
				return nil, fmt.Errorf("attack %q: the field %q is duplicate", fields["Attack"], m[1])
			}
			fields[m[1]], last = m[2], m[1]
		case fields != nil:
			fields[last] = strings.TrimSpace(fields[last] + " " + line)
		}
	}
	return out, end()
}

// newAttack returns an attack with the given fields, by name. It returns an error if a field is
// empty or the answer is missing.
func newAttack(fields map[string]string) (attack, error) {
	for name, text := range fields {
		if text == "" {
			return attack{}, fmt.Errorf("attack %q: %q is empty", fields["Attack"], name)
		}
	}
	if fields["Answer"] == "" {
		return attack{}, fmt.Errorf("attack %q: the field Answer is missing", fields["Attack"])
	}
	a := attack{attempt: fields["Attack"], answer: fields["Answer"], was: fields["Was"]}
	if tests := fields["Held by"]; tests != "" {
		for name := range strings.SplitSeq(tests, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return attack{}, fmt.Errorf("attack %q: an empty name in %q", a.attempt, tests)
			}
			a.heldBy = append(a.heldBy, strings.TrimSpace(name))
		}
	}
	return a, nil
}
