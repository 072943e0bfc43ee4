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

// Result is the result for one mutant.
type Result struct {
	mutate.Mutant
	// Reached is true if a test reaches the mutant.
	Reached bool `json:"reached"`
	// Noticed is true if a test fails with the mutant. By is the package of the test.
	Noticed bool   `json:"noticed"`
	By      string `json:"by,omitempty"`
	// TimedOut is true if the mutant was noticed because the tests took too long.
	TimedOut bool `json:"timedOut,omitempty"`
}

// Tests that take at most fastLimit run first, together in one process. Tests that take at most
// slowLimit run next, also together. Each slower test runs in a process of its own. The order saves
// time, because very fast tests notice most mutants.
const (
	fastLimit = 30 * time.Millisecond
	slowLimit = 500 * time.Millisecond
)

// group is a set of tests of a binary that run in one process.
type group struct {
	*Binary
	names []string
	took  time.Duration
}

// Run runs the tests of a binary that reach a mutant, with the mutant enabled, until a test fails.
// It runs the tests in groups, fast ones first, as the function groups returns them. A group fails
// too if it needs more CPU time than grace plus five times its time without the mutant.
func Run(ctx context.Context, grace time.Duration, m mutate.Mutant, b *Binary) (Result, error) {
	r := Result{Mutant: m}
	for _, g := range groups(m.ID, b) {
		r.Reached = true
		_, err := g.run(ctx, grace+5*(g.startUp+g.took), g.names, environmentOf(&m))
		var exit *exec.ExitError
		if errors.Is(err, timedOut) || errors.As(err, &exit) {
			r.Noticed, r.By, r.TimedOut = true, g.Package, errors.Is(err, timedOut)
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// groups returns the tests that reach the mutant with the given ID, in the order in which they
// run: one group of the tests up to fastLimit, one group of those up to slowLimit, and a group for
// each slower test, the fastest of these first.
func groups(id int, b *Binary) []group {
	if b == nil {
		return nil
	}
	var out []group
	together := [2]group{{Binary: b}, {Binary: b}}
	for _, t := range b.tests {
		if !t.reaches[id] {
			continue
		}
		if t.took > slowLimit {
			out = append(out, group{b, []string{t.name}, t.took})
			continue
		}
		g := &together[0]
		if t.took > fastLimit {
			g = &together[1]
		}
		g.names = append(g.names, t.name)
		g.took += t.took
	}
	slices.SortStableFunc(out, func(x, y group) int { return cmp.Compare(x.took, y.took) })
	return slices.DeleteFunc(append(together[:], out...), func(g group) bool { return g.names == nil })
}
