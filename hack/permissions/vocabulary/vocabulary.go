// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package vocabulary

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Vocabulary is the content of the data file vocabulary.yaml.
type Vocabulary struct {
	// Permissions maps a permission, without scope, to its meaning in one line.
	Permissions map[string]string `json:"permissions"`
	// Scopes maps a scope, such as podTemplate, to a description of the embedded object.
	Scopes map[string]string `json:"scopes"`
	// Nouns are the allowed last words of permissions and scopes.
	Nouns []string `json:"nouns"`
	// Uncovered are the fields that intentionally have no permission.
	Uncovered []Uncovered `json:"uncovered"`
	// Differences are the accepted differences between versions of a kind.
	Differences []Difference `json:"differences"`
	// Twins are sets of kinds in different groups that serve the same objects.
	Twins [][]string `json:"twins"`
}

// Uncovered describes top-level fields that have no permission, in all versions of some kinds.
type Uncovered struct {
	Group  string   `json:"group"`
	Kinds  []string `json:"kinds"`
	Fields []string `json:"fields"`
	Reason string   `json:"reason"`
}

// Difference is an accepted difference between versions of a kind: one version has a permission at
// a path where other versions do not have it, because their schemas differ.
type Difference struct {
	// Kind is Kind.group, or Kind in the core group.
	Kind string `json:"kind"`
	// Version is the version with the path.
	Version string `json:"version"`
	// Path is a pattern that matches the path.
	Path string `json:"path"`
	// Absent is true if the other versions do not have the field. It is false if the field has
	// another path in the other versions, with the same permission.
	Absent bool   `json:"absent,omitempty"`
	Reason string `json:"reason"`
}

//go:embed vocabulary.yaml
var data []byte

// Load returns the vocabulary of the data file.
func Load() (*Vocabulary, error) {
	v := &Vocabulary{}
	if err := yaml.UnmarshalStrict(data, v); err != nil {
		return nil, fmt.Errorf("vocabulary.yaml: %w", err)
	}
	return v, nil
}

// Split splits the name of a permission into the scope and the rest: podTemplateImage into
// podTemplate and image. For the name of a scope the rest is empty. A name that begins with no
// known scope is returned as the rest, with an empty scope.
func (v *Vocabulary) Split(name string) (scope, base string) {
	for s := range v.Scopes {
		rest, ok := strings.CutPrefix(name, s)
		switch {
		case !ok:
		case rest == "":
			return s, ""
		case unicode.IsUpper(rune(rest[0])) && len(s) > len(scope):
			scope, base = s, strings.ToLower(rest[:1])+rest[1:]
		}
	}
	if scope == "" {
		return "", name
	}
	return scope, base
}

// Meaning returns the meaning of a permission, including its scope. It returns an error for a
// permission without a description.
func (v *Vocabulary) Meaning(name string) (string, error) {
	scope, base := v.Split(name)
	if base == "" {
		return fmt.Sprintf("All of %s.", v.Scopes[scope]), nil
	}
	meaning := v.Permissions[base]
	if meaning == "" {
		return "", fmt.Errorf("permission %q has no meaning in hack/permissions/vocabulary/vocabulary.yaml", base)
	}
	if scope == "" {
		return meaning, nil
	}
	return fmt.Sprintf("In %s: %s", v.Scopes[scope], lowerFirst(meaning)), nil
}

// lowerFirst converts the first letter to lower case, unless the second letter is upper case too,
// as in UID.
func lowerFirst(s string) string {
	if len(s) > 1 && unicode.IsUpper(rune(s[0])) && unicode.IsUpper(rune(s[1])) {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Words splits a name in lowerCamelCase into words in lower case.
func Words(name string) []string {
	var words []string
	start := 0
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			words = append(words, strings.ToLower(name[start:i]))
			start = i
		}
	}
	return append(words, strings.ToLower(name[start:]))
}
