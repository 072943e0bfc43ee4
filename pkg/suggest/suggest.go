// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suggest finds what somebody may have meant who misspelled a name.
//
// It knows nothing of permissions.
package suggest

import "strings"

// Nearest returns the name that is nearest to a text, "" if none is near. Of equally near ones it is
// the first of those that are as long as the text, or the first.
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

// editDistance returns how many letters must be put in, taken away or replaced.
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
