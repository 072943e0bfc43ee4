// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package survivors reads the list of mutants (small faults in the code) that tests need not
// notice.
//
// A paragraph of the list has a reason, in lines that begin with #, followed by the keys of the
// mutants with that reason, one on each line.
package survivors

import (
	"fmt"
	"path/filepath"
	"strings"

	"kube-granular.dev/hack/mutants/internal/measure"
)

// List maps the key of each listed mutant to the reason why tests need not notice it.
type List map[string]string

// Parse parses a list. Each mutant must have a reason, and must not be duplicate.
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
				return nil, fmt.Errorf("line %d: duplicate: %s", i+1, line)
			}
			list[line], used = reason, true
		}
	}
	return list, nil
}

// In returns the mutants of the list that are in the files of a folder, without those of its folders.
func (l List) In(folder string) List {
	out := List{}
	for key, reason := range l {
		if file, _, _ := strings.Cut(key, ": "); filepath.Dir(file) == folder {
			out[key] = reason
		}
	}
	return out
}

// Difference is the difference between a list and the results of a run.
type Difference struct {
	// New are the survivors (mutants that no test notices) that the list does not contain. Listed
	// are the survivors that it contains.
	New, Listed []measure.Result
	// Noticed are mutants that a test notices although the list contains them. Missing are keys in
	// the list for which there is no mutant.
	Noticed []measure.Result
	Missing []string
}

// Add adds the difference of another run.
func (d *Difference) Add(other Difference) {
	d.New, d.Listed = append(d.New, other.New...), append(d.Listed, other.Listed...)
	d.Noticed, d.Missing = append(d.Noticed, other.Noticed...), append(d.Missing, other.Missing...)
}

// Compare compares the results of a run with the list. all is true if the run tried all mutants.
// If all is false, Compare does not set Missing, because a mutant that was not tried may exist.
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
