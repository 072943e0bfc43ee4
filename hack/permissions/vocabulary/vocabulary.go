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

// Vocabulary is the data file.
type Vocabulary struct {
	// Permissions maps a permission, without scope, to its meaning in one line.
	Permissions map[string]string `json:"permissions"`
	// Scopes maps a scope to what is embedded there.
	Scopes map[string]string `json:"scopes"`
	// Nouns are the last words of permissions and scopes.
	Nouns []string `json:"nouns"`
	// Uncovered are the fields that no permission covers on purpose.
	Uncovered []Uncovered `json:"uncovered"`
	// Differences are the places that not all versions of a kind have.
	Differences []Difference `json:"differences"`
	// Twins are kinds that are the same objects under another group.
	Twins [][]string `json:"twins"`
}

// Uncovered is a field of a root, in all versions of a kind.
type Uncovered struct {
	Group  string   `json:"group"`
	Kinds  []string `json:"kinds"`
	Fields []string `json:"fields"`
	Reason string   `json:"reason"`
}

// Difference allows a permission at a place in one version that has no
// counterpart at the same place in another, because the schemas differ there.
type Difference struct {
	// Kind is Kind.group, or Kind in the core group.
	Kind string `json:"kind"`
	// Version has the place, others have not.
	Version string `json:"version"`
	// Path is the place, as a pattern.
	Path string `json:"path"`
	// Absent says that other versions have nothing of the kind. Otherwise the field
	// has moved there, and has the same permission.
	Absent bool   `json:"absent,omitempty"`
	Reason string `json:"reason"`
}

//go:embed vocabulary.yaml
var data []byte

// Load reads the data file.
func Load() (*Vocabulary, error) {
	v := &Vocabulary{}
	if err := yaml.UnmarshalStrict(data, v); err != nil {
		return nil, fmt.Errorf("vocabulary.yaml: %w", err)
	}
	return v, nil
}

// Split takes the scope off a permission: podTemplateImage is image in podTemplate.
// The base of a scope's own permission is empty. A name with no known scope is its
// own base.
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

// Meaning is that of a permission, scope included. It fails for a permission
// that nobody has described.
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

// lowerFirst leaves words such as UID alone.
func lowerFirst(s string) string {
	if len(s) > 1 && unicode.IsUpper(rune(s[0])) && unicode.IsUpper(rune(s[1])) {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Words splits a name in lowerCamelCase, in lower case.
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
