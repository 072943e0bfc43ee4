// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the correct spelling of a misspelled name, by the Levenshtein distance.
//
// It knows nothing about permissions.
package suggest

import "strings"

// Nearest returns the name with the smallest edit distance to text, ignoring case. It returns "" if
// the distance of every name is greater than half the length of text. If several names have the
// smallest distance, it returns the first of them that has the same length as text, or the first of
// them if none has that length.
func Nearest(text string, names []string) string {
	best, distance := "", len(text)/2+1
	for _, name := range names {
		d := editDistance(strings.ToLower(text), strings.ToLower(name))
		if d < distance || d == distance && best != "" && len(best) != len(text) && len(name) == len(text) {
			best, distance = name, d
		}
	}
	return best
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
