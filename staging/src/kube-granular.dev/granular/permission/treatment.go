// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
)

// Treatment says how a raw key becomes a parameter (KEP-3617, "Complete List of
// parameter treatments").
type Treatment string

const (
	// Verbatim takes the key as it is.
	Verbatim Treatment = ""
	// SlashDelimitedPrefix takes what stands before the first slash, and the
	// whole key if there is none: example.com/a gives example.com.
	SlashDelimitedPrefix Treatment = "slash-delimited-prefix"
)

// ParseTreatment accepts the known treatments and nothing else: an unknown one
// must stop the schema, not be read as verbatim.
func ParseTreatment(s string) (Treatment, error) {
	switch t := Treatment(s); t {
	case Verbatim, SlashDelimitedPrefix:
		return t, nil
	}
	return "", fmt.Errorf("unknown parameter treatment, known is %q", SlashDelimitedPrefix)
}

// Apply makes the parameter from a raw key.
func (t Treatment) Apply(key string) string {
	if t == SlashDelimitedPrefix {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}
