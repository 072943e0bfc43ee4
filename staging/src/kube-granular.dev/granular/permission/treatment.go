// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
)

// Treatment says how a raw key or value becomes a parameter (KEP-3617, "Complete List of
// parameter treatments").
type Treatment string

const (
	// Verbatim takes the key as it is.
	Verbatim Treatment = ""
	// SlashDelimitedPrefix takes what stands before the first slash, and the
	// whole key if there is none: example.com/a gives example.com.
	SlashDelimitedPrefix Treatment = "slash-delimited-prefix"
	// ImageRepositoryPrefix takes the registry of a container image, and every longer prefix
	// of its repository; any of them will do. See MaxPrefixes.
	ImageRepositoryPrefix Treatment = "image-repository-prefix"
)

// ParseTreatment accepts the known treatments and nothing else: an unknown one
// must stop the schema, not be read as verbatim.
func ParseTreatment(s string) (Treatment, error) {
	switch t := Treatment(s); t {
	case Verbatim, SlashDelimitedPrefix, ImageRepositoryPrefix:
		return t, nil
	}
	return "", fmt.Errorf("unknown parameter treatment, known are %q and %q", SlashDelimitedPrefix, ImageRepositoryPrefix)
}

// Several reports whether a key may have several parameters, of which any will do. Then
// Parameters returns them, and else Apply the one.
func (t Treatment) Several() bool { return t == ImageRepositoryPrefix }

// Apply returns the parameter made from a raw key, where a key has one.
func (t Treatment) Apply(key string) string {
	if t == SlashDelimitedPrefix {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}

// Parameters returns the parameters made from a raw key, the most general first. There is
// none where the key is not what the treatment takes; then the permission does not cover it.
func (t Treatment) Parameters(key string) []string {
	if t.Several() {
		return imagePrefixes(key)
	}
	return []string{t.Apply(key)}
}
