// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the correct spelling of a misspelled name, by the Levenshtein distance.
//
// It knows nothing about permissions.
package suggest

import (
	"slices"
	"strings"
)

// Nearest returns the name that text most probably stands for, or "" if no name is similar enough.
// It ignores case. Text is compared with each whole name and with the last words of each lowerCamelCase
// name, and it may be the beginning of a name: "image" stands for "podTemplateImage" where no name is
// "image", and "spec" for "specification". Similar enough means an edit distance of at most a third
// of the length of text, rounded up, or a quarter, rounded down, for a part of a name. Of equally
// similar names, a whole name precedes a part of a name, then one of the same length as text
// precedes others, then the shortest of those with a similar part does, then the first one.
func Nearest(text string, names []string) string {
	lower := strings.ToLower(text)
	limit := (len(text) + 2) / 3
	best, least := "", rank{distance: limit + 1}
	for _, name := range names {
		if r := rankOf(lower, name, limit); r.distance <= limit && r.less(least) {
			best, least = name, r
		}
	}
	return best
}

// Misspelled returns the first name that differs from text by one mistake: a letter too much, a missing
// one, another one, or two neighbours in the wrong order. It returns "" if there is none, or if text is
// one of the names. Names below five letters are left out, because they are similar to too many words.
func Misspelled(text string, names []string) string {
	if slices.Contains(names, text) {
		return ""
	}
	for _, name := range names {
		if len(name) > minPart && (distanceUpTo(1, text, name) <= 1 || isSwapped(text, name)) {
			return name
		}
	}
	return ""
}

// isSwapped reports whether two neighbouring letters of a are those of b in the other order, and all
// other letters are equal.
func isSwapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// rank orders names by their similarity to a text; the zero value is the most similar.
type rank struct {
	distance    int
	part        bool // only a part of the name is similar
	otherLength bool // the name is longer or shorter than the text
	length      int  // of the name, if only a part of it is similar
}

func (r rank) less(than rank) bool {
	if r.distance != than.distance {
		return r.distance < than.distance
	}
	if r.part != than.part {
		return !r.part
	}
	if r.otherLength != than.otherLength {
		return !r.otherLength
	}
	return r.length < than.length
}

// minPart is the minimum length of a text that is looked for in parts of names. Shorter texts are
// similar to too many parts.
const minPart = 4

// rankOf ranks a name by its similarity to a text in lower case. If the name is not similar
// enough, the distance is above limit.
func rankOf(text, name string, limit int) rank {
	lower := strings.ToLower(name)
	whole := rank{distance: distanceUpTo(limit, text, lower), otherLength: len(text) != len(name)}
	if len(text) < minPart {
		return whole
	}
	limit = len(text) / 4
	part := rank{limit + 1, true, true, len(name)}
	if strings.HasPrefix(lower, text) {
		part.distance = 0
	}
	for i := 1; i < len(name); i++ {
		if 'A' <= name[i] && name[i] <= 'Z' {
			part.distance = min(part.distance, distanceUpTo(limit, text, lower[i:]))
		}
	}
	if part.distance <= limit && part.less(whole) {
		return part
	}
	return whole
}

// distanceUpTo returns the edit distance of two strings, or a number above limit if the distance is
// above limit. It compares only strings whose lengths are near enough.
func distanceUpTo(limit int, a, b string) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	return editDistance(a, b)
}

// editDistance returns the Levenshtein distance of two strings.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
