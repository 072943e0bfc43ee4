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
	// TimedOut says that it was noticed because the tests took too long.
	TimedOut bool `json:"timedOut,omitempty"`
}

// Tests that take no longer than brisk run together, and after them those that are quick.
// A slow one runs alone. Most mutants are noticed by tests that take no time.
const (
	fastLimit = 30 * time.Millisecond
	slowLimit = 500 * time.Millisecond
)

// group are tests of a binary that run in one process.
type group struct {
	*Binary
	names []string
	took  time.Duration
}

// Run runs with a mutant on what comes by it: the brisk tests of a binary together,
// the quick ones, and then each slow one. Tests that take five times their time, and some grace, have
// noticed it.
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

// groups are the tests that come by a mutant, in the order in which they run.
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
