// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package vocabulary

import (
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
)

// CheckStyle says what is wrong with a permission of the style guide, given the fields
// on the way to a place it has and the kind that place is in. Only the part of
// the path inside the permission's scope counts, and the field itself does not:
// replicas may be called replicas.
func (v *Vocabulary) CheckStyle(name, kind string, ancestors []string) error {
	if err := permission.Validate(name); err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return fmt.Errorf("built-in permissions have no domain")
	}
	_, base := v.Split(name)
	if base == "" {
		base = name
	}
	words := Words(base)
	if noun := words[len(words)-1]; !slices.Contains(v.Nouns, noun) {
		return fmt.Errorf("%q is not among the nouns of the vocabulary", noun)
	}
	for _, ancestor := range ancestors {
		if contains(words, Words(ancestor)) {
			return fmt.Errorf("%q names the field %q above it", base, ancestor)
		}
	}
	// A kind may be named after what it holds, as Endpoints is; its name may not
	// stand in front of another.
	if of := Words(lowerFirst(kind)); len(words) > len(of) && slices.Equal(words[:len(of)], of) {
		return fmt.Errorf("%q names the kind %s it is in", base, kind)
	}
	return nil
}

func contains(words, part []string) bool {
	for i := 0; i+len(part) <= len(words); i++ {
		if slices.Equal(words[i:i+len(part)], part) {
			return true
		}
	}
	return false
}
