// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"slices"
	"time"

	"kube-granular.dev/hack/mutants/internal/mutate"
)

// Result is what became of a mutant.
type Result struct {
	mutate.Mutant
	// Reached says that some test comes by it.
	Reached bool `json:"reached"`
	// Noticed says that a test fails with it, and By in which package.
	Noticed bool   `json:"noticed"`
	By      string `json:"by,omitempty"`
}

// quick is how long a test takes that runs together with others. A slow one runs
// alone, after them.
const quick = 500 * time.Millisecond

// group are tests of a binary that run in one process.
type group struct {
	*Binary
	names []string
	took  time.Duration
}

// Judge runs with a mutant on what comes by it: the quick tests of each binary, in their
// order, and then each slow one. Tests that take five times their time, and some grace,
// have noticed it.
func Judge(ctx context.Context, grace time.Duration, m mutate.Mutant, binaries []*Binary) (Result, error) {
	r := Result{Mutant: m}
	for _, g := range groups(m.ID, binaries) {
		r.Reached = true
		err := g.run(ctx, grace+5*(g.startUp+g.took), g.names, on(&m))
		var exit *exec.ExitError
		if errors.Is(err, timedOut) || errors.As(err, &exit) {
			r.Noticed, r.By = true, g.Package
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// groups are the tests that come by a mutant, in the order in which they run.
func groups(id int, binaries []*Binary) []group {
	var out, slow []group
	for _, b := range binaries {
		together := group{Binary: b}
		for _, t := range b.tests {
			switch {
			case !t.reaches[id]:
			case t.took <= quick:
				together.names = append(together.names, t.name)
				together.took += t.took
			default:
				slow = append(slow, group{b, []string{t.name}, t.took})
			}
		}
		if together.names != nil {
			out = append(out, together)
		}
	}
	slices.SortStableFunc(slow, func(x, y group) int { return cmp.Compare(x.took, y.took) })
	return append(out, slow...)
}
