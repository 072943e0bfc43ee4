// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/protect/protecttest"
)

// holding is a Holder for a caller who holds some references.
type holding struct {
	holds []string
	asked []string
}

func (h *holding) Holds(_ context.Context, r protect.Reference) (bool, error) {
	h.asked = append(h.asked, protect.Short(r))
	return slices.Contains(h.holds, protect.Short(r)), nil
}

// plain returns an object in the form that a walker takes, and nil for no object.
func plain(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}

// oracleCase runs one random request through the library and the oracle.
func oracleCase(t *testing.T, seed uint64) (refused bool) {
	c := protecttest.Random(rand.New(rand.NewPCG(seed, 19)), protecttest.Resources()...)
	set, target := protect.New(c.Entries...), protect.TargetOf(t, protect.ResourceOf(c.Resource))
	walker := protect.WalkerOf(t, protect.ResourceOf(c.Resource))
	who := &holding{holds: c.Holds}
	active := set.Active(c.Namespace, target)
	decide := func() (*protect.Refusal, []protect.Finding) {
		d := protect.NewDecider(set, c.Namespace, target, who, 1000)
		var changed [2]change.Attributes
		for i, object := range []map[string]any{c.Sent, c.Final} {
			var err error
			if changed[i], err = walker.Attributes(active, d, plain(c.Old), plain(object)); err != nil {
				t.Fatal(err)
			}
		}
		refusal, findings, err := d.Decide(t.Context(), change.IntersectAttributes(changed[0], changed[1]))
		if err != nil {
			t.Fatal(err)
		}
		return refusal, findings
	}
	refusal, findings := decide()
	want, wouldFind := c.Verdict(who.holds)
	if (refusal != nil) != want {
		t.Fatalf("seed %d: %s: refused: %v, the oracle: %v", seed, c.Resource, protect.Shown(refusal), want)
	}
	if refusal == nil {
		found := map[string]bool{}
		for _, f := range findings {
			for _, name := range f.Entries {
				found[name] = true
			}
		}
		for _, e := range c.Entries {
			if found[e.Name] != wouldFind[e.Name] {
				t.Fatalf("seed %d: %s: entry %s is found: %v, by the oracle: %v", seed, c.Resource, e.Name, found[e.Name], wouldFind[e.Name])
			}
		}
	}
	for i, asked := range who.asked {
		if slices.Contains(who.asked[:i], asked) {
			t.Fatalf("seed %d: %s is asked twice", seed, asked)
		}
	}
	// A caller who is given what each refusal names is admitted in the end, unless no entry admits
	// anybody.
	for refusal != nil && refusal.Reason == protect.NotHeld {
		more := protect.Short(refusal.References[0])
		if slices.Contains(who.holds, more) {
			t.Fatalf("seed %d: the refusal names %s, which the caller holds", seed, more)
		}
		who.holds = append(who.holds, more)
		refusal, _ = decide()
		if want, _ := c.Verdict(who.holds); (refusal != nil) != want {
			t.Fatalf("seed %d: with %s: refused: %v, the oracle: %v", seed, more, protect.Shown(refusal), want)
		}
	}
	return want
}

func TestOracle(t *testing.T) {
	const cases = 12000
	refused := 0
	for seed := range uint64(cases) {
		if oracleCase(t, seed) {
			refused++
		}
	}
	t.Logf("%d of %d cases are refused", refused, cases)
	if refused < cases/20 || refused > cases/2 {
		t.Errorf("%d of %d cases are refused: that tests one side alone", refused, cases)
	}
}

func FuzzOracle(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) { oracleCase(t, seed) })
}
