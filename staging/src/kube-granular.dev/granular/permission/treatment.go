// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"fmt"
	"strings"
)

// Treatment is how a raw key becomes a parameter (KEP-3617, "Complete List of parameter
// treatments").
type Treatment string

const (
	// Verbatim uses the key as it is.
	Verbatim Treatment = ""
	// SlashDelimitedPrefix uses the part before the first slash, or the whole key if there is
	// none: example.com/a yields example.com.
	SlashDelimitedPrefix Treatment = "slash-delimited-prefix"
)

// ParseTreatment returns an error for an unknown treatment. The schema must then be refused, and
// the treatment not be read as verbatim.
func ParseTreatment(s string) (Treatment, error) {
	switch t := Treatment(s); t {
	case Verbatim, SlashDelimitedPrefix:
		return t, nil
	}
	return "", fmt.Errorf("unknown parameter treatment, known is %q", SlashDelimitedPrefix)
}

// Apply returns the parameter for a raw key.
func (t Treatment) Apply(key string) string {
	if t == SlashDelimitedPrefix {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}
