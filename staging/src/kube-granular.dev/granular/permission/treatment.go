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
	// Verbatim uses the key as it is.
	Verbatim Treatment = ""
	// SlashDelimitedPrefix uses the part before the first slash, or the whole key if there is
	// none: example.com/a yields example.com.
	SlashDelimitedPrefix Treatment = "slash-delimited-prefix"
	// ImageRepositoryPrefix makes several parameters from one container image: its registry, and
	// each longer prefix of its repository, at most MaxPrefixes. A caller needs the permission
	// for only one of these parameters.
	ImageRepositoryPrefix Treatment = "image-repository-prefix"
)

// ParseTreatment parses the name of a treatment. If ParseTreatment returns an error, the treatment
// is unknown and the caller must refuse the schema, never fall back to Verbatim.
func ParseTreatment(s string) (Treatment, error) {
	switch t := Treatment(s); t {
	case Verbatim, SlashDelimitedPrefix, ImageRepositoryPrefix:
		return t, nil
	}
	return "", fmt.Errorf("unknown parameter treatment, must be %q or %q", SlashDelimitedPrefix, ImageRepositoryPrefix)
}

// Several reports whether the treatment may make several parameters from one key. Parameters then
// returns all of them, and a caller needs the permission for only one.
func (t Treatment) Several() bool { return t == ImageRepositoryPrefix }

// Apply returns the parameter for a raw key. If Several returns true, use Parameters instead.
func (t Treatment) Apply(key string) string {
	if t == SlashDelimitedPrefix {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}

// Parameters returns the parameters for a raw key, most general first. It returns an empty result
// for a key that the treatment does not accept: no parameter of the permission covers that key.
func (t Treatment) Parameters(key string) []string {
	if t.Several() {
		return imagePrefixes(key)
	}
	return []string{t.Apply(key)}
}
