// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// covered reports whether the verbs in holds cover the change. It implements the rule of the design
// without code of the Decider: the caller holds the verb of one permission in the chain. If the
// chain has excluded permissions, that permission is excluded itself or is below all of them.
func covered(c *change.Change, holds []string) bool {
	for i, p := range c.Node.Chain() {
		below := true
		any := false
		for j, q := range c.Node.Chain() {
			any = any || q.Excluded
			if q.Excluded && j >= i {
				below = false
			}
		}
		if any && !p.Excluded && !below {
			continue
		}
		if slices.Contains(holds, verbOf(c, p)) {
			return true
		}
	}
	return false
}

// verbOf returns the verb of a permission for a change. The permission tree must have no
// expressions, so that every permission has a verb.
func verbOf(c *change.Change, p *schema.Permission) string {
	v, err := c.Verb(context.Background(), schema.NewCostBudget(1000), p)
	if err != nil {
		return ""
	}
	return v.String()
}

func excluded(c *change.Change) bool {
	for _, p := range c.Node.Chain() {
		if p.Excluded {
			return true
		}
	}
	return false
}

func randomSet(t *testing.T, seed uint64, marked bool) change.Set {
	t.Helper()
	definitions, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 5))
	kind := [][3]string{{"apps", "v1", "Deployment"}, {"", "v1", "ConfigMap"}, {"example.com", "v1", "Widget"},
		{"example.com", "v1", "Widget"}}[r.IntN(4)]
	tree, err := testmodels.Tree(kind[0], kind[1], kind[2])
	if err != nil {
		t.Fatal(err)
	}
	g := testmodels.Generator{IntN: r.IntN, Definitions: definitions}
	old := g.Value(definitions[tree.Name], 8)
	mode := change.ExcludedOnly
	if marked {
		mode = change.All
	}
	set, err := change.NewWalker(tree).Compare(mode, old, g.Change(definitions[tree.Name], old, 8))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func decideWith(t *testing.T, set change.Set, marked bool, holds []string) *Refusal {
	t.Helper()
	refusal, err := New(&holder{t: t, holds: holds}, 10000).Decide(context.Background(), set, marked)
	if err != nil {
		t.Fatal(err)
	}
	return refusal
}

// TestSoundAndComplete grants, for each change of a random write, one verb that covers the change.
// With all these verbs the write is allowed. Without one of them, the write is refused if a change
// is then uncovered, and the refusal names the first uncovered change.
func TestSoundAndComplete(t *testing.T) {
	passed, refused := 0, 0
	for seed := range uint64(2000) {
		marked := seed%2 == 0
		set := randomSet(t, seed, marked)
		r := rand.New(rand.NewPCG(seed, 6))
		var holds []string
		coverable := true
		for i := range set {
			c := &set[i]
			if !marked && !excluded(c) || covered(c, holds) {
				continue
			}
			var choices []string
			for _, p := range c.Node.Chain() {
				if v := verbOf(c, p); covered(c, []string{v}) {
					choices = append(choices, v)
				}
			}
			if len(choices) == 0 {
				coverable = false
				break
			}
			holds = append(holds, choices[r.IntN(len(choices))])
		}
		refusal := decideWith(t, set, marked, holds)
		if (refusal == nil) != coverable {
			t.Fatalf("seed %d: holding %q, coverable %v: %+v", seed, holds, coverable, refusal)
		}
		if refusal != nil {
			if refused++; refusal.Reason != NoPermission {
				t.Fatalf("seed %d: %+v", seed, refusal)
			}
			continue
		}
		passed++
		for i := range holds {
			without := slices.Delete(slices.Clone(holds), i, i+1)
			var want *change.Change
			for j := range set {
				if c := &set[j]; (marked || excluded(c)) && !covered(c, without) {
					want = c
					break
				}
			}
			got := decideWith(t, set, marked, without)
			switch {
			case (got == nil) != (want == nil):
				t.Fatalf("seed %d: without %s: %+v, want a refusal: %v", seed, holds[i], got, want != nil)
			case got == nil:
			case got.Change.String() != want.String():
				t.Fatalf("seed %d: without %s the refusal is about %s, want %s", seed, holds[i], got.Change.String(), want.String())
			case !covered(want, []string{got.General}) || !covered(want, []string{got.Specific}):
				t.Fatalf("seed %d: the refusal says %s, which would not do", seed, got.Needs())
			case strings.Count(got.Needs(), "granular:") > 2:
				t.Fatalf("seed %d: %s", seed, got.Needs())
			}
		}
	}
	if passed < 500 || refused < 50 {
		t.Errorf("%d passed, %d refused: that is no test", passed, refused)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add(uint64(1), uint64(0), true)
	f.Add(uint64(2), uint64(0xffff), false)
	f.Fuzz(func(t *testing.T, seed, mask uint64, marked bool) {
		set := randomSet(t, seed, marked)
		var holds []string
		bit := 0
		for i := range set {
			for _, p := range set[i].Node.Chain() {
				if mask>>(bit%64)&1 == 1 {
					holds = append(holds, verbOf(&set[i], p))
				}
				bit++
			}
		}
		all := true
		for i := range set {
			all = all && (!marked && !excluded(&set[i]) || covered(&set[i], holds))
		}
		if refusal := decideWith(t, set, marked, holds); (refusal == nil) != all {
			t.Errorf("holding %q: %+v, want allowed: %v", holds, refusal, all)
		}
		// With a small budget, Decide may refuse more writes, and never allows more.
		tight := New(&holder{t: t, holds: holds}, 4)
		refusal, err := tight.Decide(context.Background(), set, marked)
		if err != nil || refusal == nil && !all || len(tight.Asked()) > 4 {
			t.Errorf("with a budget of 4: %+v, %v, asked %d", refusal, err, len(tight.Asked()))
		}
	})
}
