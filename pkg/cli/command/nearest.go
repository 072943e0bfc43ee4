// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// nearest returns the verb of a tree that somebody may have meant, "" if none is near.
func nearest(text string, tree *schema.Tree) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, permission.General+":"), "(")
	best, distance := "", len(name)/2+1
	for _, info := range tree.Permissions() {
		if d := edits(strings.ToLower(name), strings.ToLower(info.Name)); d < distance {
			best, distance = kinds.VerbOf(info.Permission), d
		}
	}
	return best
}

// edits returns how many letters must be put in, taken away or replaced.
func edits(a, b string) int {
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
