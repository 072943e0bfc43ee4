// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"kube-granular.dev/granular/schema"
)

// Bounds of a path.
const (
	// MaxSteps is the highest number of steps of a path.
	MaxSteps = 16
	// MaxPathLength is the highest length of a path, in bytes.
	MaxPathLength = 1024
)

// Step is one step of a path: to the field Name or, if Every is set, to every element of a list or
// every value of a map.
type Step struct {
	Name  string
	Every bool
}

// Path is the path of a field from the root of an object, such as .spec.sources[*].repoURL. It has
// at least one step, and the first one has a name.
type Path []Step

// ParsePath parses a path. A step is a name after a dot, a quoted name such as ["a.b"] if the name
// has other characters than letters, digits, '-', '_' and '$', or [*]. Each path has one spelling:
// the one that String returns. An error contains no part of the path.
func ParsePath(text string) (Path, error) {
	if len(text) > MaxPathLength {
		return nil, fmt.Errorf("longer than %d bytes", MaxPathLength)
	}
	var out Path
	for rest := text; rest != ""; {
		if len(out) == MaxSteps {
			return nil, fmt.Errorf("more than %d steps", MaxSteps)
		}
		step, next, err := parseStep(rest)
		if err != nil {
			return nil, err
		}
		out, rest = append(out, step), next
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("empty; a path is the name of a field after a dot, such as .spec.replicas")
	case out[0].Every:
		return nil, errors.New("begins with [*]; it must begin with the name of a field")
	case out.String() != text:
		return nil, errors.New("quotes a name that needs no quotes, or escapes a character that needs no escape")
	}
	return out, nil
}

// parseStep parses the first step of a path and returns the rest of the path.
func parseStep(text string) (step Step, rest string, err error) {
	if rest, ok := strings.CutPrefix(text, "[*]"); ok {
		return Step{Every: true}, rest, nil
	}
	if quoted, ok := strings.CutPrefix(text, "["); ok {
		decoder := json.NewDecoder(strings.NewReader(quoted))
		var name string
		if err := decoder.Decode(&name); err != nil || name == "" || !strings.HasPrefix(quoted[decoder.InputOffset():], "]") {
			return step, "", errors.New(`has a bracket without [*] or a quoted name, such as ["a.b"]`)
		}
		return Step{Name: name}, quoted[decoder.InputOffset()+1:], nil
	}
	name, ok := strings.CutPrefix(text, ".")
	if !ok {
		return step, "", errors.New("has a name without a dot before it")
	}
	length := 0
	for length < len(name) && plainByte(name[length]) {
		length++
	}
	switch {
	case length == 0:
		return step, "", errors.New("has a dot without a name after it")
	case length < len(name) && name[length] != '.' && name[length] != '[':
		return step, "", errors.New(`has a character that must be in a quoted name, such as ["a.b"]`)
	}
	return Step{Name: name[:length]}, name[length:], nil
}

func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '$'
}

func plainName(name string) bool {
	for i := range len(name) {
		if !plainByte(name[i]) {
			return false
		}
	}
	return name != ""
}

// String returns the spelling of the path in spec.fields[].path.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.Every:
			b.WriteString("[*]")
		case plainName(s.Name):
			b.WriteString("." + s.Name)
		default:
			quoted, _ := json.Marshal(s.Name) // a string always has a JSON form
			b.WriteString("[" + string(quoted) + "]")
		}
	}
	return b.String()
}

// Steps returns the path as steps of package schema.
func (p Path) Steps() []schema.Step {
	out := make([]schema.Step, len(p))
	for i, s := range p {
		out[i] = schema.Step{Field: s.Name, Elem: s.Every}
	}
	return out
}

// inside reports whether p is the path of a field at or inside the field of other.
func (p Path) inside(other Path) bool {
	if len(p) < len(other) {
		return false
	}
	for i := range other {
		if p[i] != other[i] {
			return false
		}
	}
	return true
}
