// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
)

// Treatment is a way to turn a raw key or value into the parameter of a permission verb (KEP-3617,
// "Complete List of parameter treatments").
type Treatment string

const (
	// Verbatim uses the key or value as it is.
	Verbatim Treatment = ""
	// SlashDelimitedPrefix uses the part before the first slash, or the whole key if there is
	// none: example.com/a yields example.com. A grant may also name exactly one key; see Exact.
	SlashDelimitedPrefix Treatment = "slash-delimited-prefix"
	// ImageRepositoryPrefix makes several parameters from a container image: its registry, and
	// each longer prefix of its repository. A grant for one of them suffices. See MaxPrefixes.
	ImageRepositoryPrefix Treatment = "image-repository-prefix"
)

// ParseTreatment returns the treatment with the given name. It returns an error for an unknown
// name. The caller must then refuse the schema, and must not use Verbatim instead.
func ParseTreatment(s string) (Treatment, error) {
	switch t := Treatment(s); t {
	case Verbatim, SlashDelimitedPrefix, ImageRepositoryPrefix:
		return t, nil
	}
	return "", fmt.Errorf("unknown parameter treatment, must be %q or %q", SlashDelimitedPrefix, ImageRepositoryPrefix)
}

// Several reports whether the treatment can make more than one parameter from a key. Parameters
// returns all of them, and a grant for one of them suffices.
func (t Treatment) Several() bool { return t == ImageRepositoryPrefix }

// Apply returns the parameter for a raw key. For a treatment for which Several returns true, use
// Parameters.
func (t Treatment) Apply(key string) string {
	if t == SlashDelimitedPrefix {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}

// Exact returns the parameter that stands for one raw key only, and false if the treatment has none.
// It always contains a slash, and a prefix never does, so that neither is mistaken for the other:
// example.com/a yields example.com/a. A key without a slash, which is a prefix too, gets one in
// front: a yields /a. Two keys never yield the same parameter.
func (t Treatment) Exact(key string) (string, bool) {
	if t != SlashDelimitedPrefix {
		return "", false
	}
	if strings.IndexByte(key, '/') > 0 {
		return key, true
	}
	return "/" + key, true
}

// Key returns the raw key that an exact parameter stands for; see Exact. It returns false for a
// parameter of another kind, and for one that Exact makes of no key.
func (t Treatment) Key(parameter string) (string, bool) {
	if t != SlashDelimitedPrefix || strings.IndexByte(parameter, '/') < 0 {
		return "", false
	}
	key := strings.TrimPrefix(parameter, "/")
	exact, _ := t.Exact(key)
	return key, exact == parameter
}

// Parameters returns the parameters for a raw key, most general first. It returns nil for a key
// that the treatment does not accept. The permission then does not cover the key.
func (t Treatment) Parameters(key string) []string {
	if t.Several() {
		return imagePrefixes(key)
	}
	return []string{t.Apply(key)}
}
