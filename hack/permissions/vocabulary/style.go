// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package vocabulary

import (
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
)

// CheckStyle returns an error if the name of a permission violates the style guide. A name
// must end with a noun of the vocabulary, and must not contain the kind of the object or the name
// of an ancestor. ancestors are the names of the fields above the field that has the permission, up
// to the root of its scope, such as the pod template. The field itself is none of them, because a
// permission may have the name of its field: replicas for .spec.replicas.
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
			return fmt.Errorf("%q contains the name of its parent field %q", base, ancestor)
		}
	}
	// The permission may be named exactly like its kind, as in Endpoints. It must not be the name
	// of its kind followed by further words.
	if known := Words(lowerFirst(kind)); len(words) > len(known) && slices.Equal(words[:len(known)], known) {
		return fmt.Errorf("%q contains the name of its kind %s", base, kind)
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
