// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package survivors reads the list of mutants that no test needs to notice.
//
// A paragraph of the list is the reason, in lines that begin with #, and below it the
// keys of the mutants it holds for, one a line.
package survivors

import (
	"fmt"
	"strings"

	"kube-granular.dev/hack/mutants/internal/measure"
)

// List has the reason for each mutant of it, by key.
type List map[string]string

// Parse reads a list. Each mutant in it must have a reason, and be there once.
func Parse(text string) (List, error) {
	list := List{}
	reason, used := "", false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			reason, used = "", false
		case strings.HasPrefix(line, "#"):
			if used {
				reason, used = "", false
			}
			reason = strings.TrimSpace(reason + " " + strings.TrimSpace(strings.TrimPrefix(line, "#")))
		case reason == "":
			return nil, fmt.Errorf("line %d: no reason for %s", i+1, line)
		default:
			if _, twice := list[line]; twice {
				return nil, fmt.Errorf("line %d: is there twice: %s", i+1, line)
			}
			list[line], used = reason, true
		}
	}
	return list, nil
}

// Difference is how a list and the results of a run differ.
type Difference struct {
	// New survived and are not in the list. Listed survived and are.
	New, Listed []measure.Result
	// Noticed are in the list although a test notices them, and Gone are keys without a
	// mutant.
	Noticed []measure.Result
	Missing []string
}

// Compare holds results against the list; all says that no mutant was left out.
func (l List) Compare(results []measure.Result, all bool) Difference {
	var found Difference
	seen := map[string]bool{}
	for _, r := range results {
		key := r.Key()
		seen[key] = true
		_, listed := l[key]
		switch {
		case r.Noticed && listed:
			found.Noticed = append(found.Noticed, r)
		case r.Noticed:
		case listed:
			found.Listed = append(found.Listed, r)
		default:
			found.New = append(found.New, r)
		}
	}
	if all {
		for key := range l {
			if !seen[key] {
				found.Missing = append(found.Missing, key)
			}
		}
	}
	return found
}
