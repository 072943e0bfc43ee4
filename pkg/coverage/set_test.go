// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package coverage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/pkg/coverage"
)

func rule(verbs, groups, resources, names []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
}

// easilyConfused returns rules that differ in little.
func easilyConfused() (rules []rbacv1.PolicyRule) {
	for _, verb := range []string{"get", "*"} {
		for _, group := range []string{"", "g", "*"} {
			for _, resource := range []string{"pods", "pods/log", "*/log", "*", "*/", "pods/"} {
				for _, names := range [][]string{nil, {""}, {"a"}, {"a", ""}} {
					rules = append(rules, rule([]string{verb}, []string{group}, []string{resource}, names))
				}
			}
		}
		for _, url := range []string{"/a", "/a*", "/a/b", "*", "/"} {
			rules = append(rules, rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}})
		}
	}
	return rules
}

// TestCovers holds that a Set finds one rule granted by another exactly if upstream's escalation
// check does, for all pairs of rules that are easily confused.
func TestCovers(t *testing.T) {
	rules := easilyConfused()
	for _, owner := range rules {
		for _, servant := range rules {
			left := coverage.New([]rbacv1.PolicyRule{servant}, coverage.WorkOfRequest)
			left.Grant(&owner)
			if want, _ := validation.Covers([]rbacv1.PolicyRule{owner}, []rbacv1.PolicyRule{servant}); left.Empty() != want {
				t.Errorf("%v covers %v: %t, wanted %t", owner, servant, left.Empty(), want)
			}
		}
	}
}

// TestCoversAtRandom holds that for random rules with several values, repeated ones among them, a
// Set finds the same permissions missing as upstream's escalation check, and that Rules, Keep and
// Len agree with it.
func TestCoversAtRandom(t *testing.T) {
	some := func(r *rand.Rand, from ...string) (out []string) {
		for range 1 + r.IntN(4) {
			out = append(out, from[r.IntN(len(from))])
		}
		return out
	}
	anyRules := func(r *rand.Rand) (out []rbacv1.PolicyRule) {
		for range 1 + r.IntN(4) {
			verbs := some(r, "get", "list", "create", "update", "*")
			if r.IntN(5) == 0 {
				out = append(out, rbacv1.PolicyRule{Verbs: verbs, NonResourceURLs: some(r, "/a", "/a/*", "/a/b", "/b", "*", "/a**")})
				continue
			}
			var names []string
			if r.IntN(3) == 0 {
				names = some(r, "a", "b", "c", "")
			}
			out = append(out, rule(verbs, some(r, "", "apps", "g", "*"), some(r, "pods", "pods/log", "secrets/log", "*/log", "secrets", "*"), names))
		}
		return out
	}
	counted := map[bool]int{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		owner, servant := anyRules(r), anyRules(r)
		missing := coverage.New(servant, coverage.WorkOfRequest)
		whole := missing.Clone()
		missing.GrantAll(owner)
		covers, lacks := validation.Covers(owner, servant)
		if missing.Empty() != covers || missing.Exhausted() {
			t.Fatalf("seed %d: covered %t, wanted %t: %v by %v", seed, missing.Empty(), covers, servant, owner)
		}
		left := missing.Rules()
		if same, more := validation.Covers(lacks, left); !same {
			t.Fatalf("seed %d: missing %v, too many are %v: %v by %v", seed, left, more, servant, owner)
		}
		if same, more := validation.Covers(left, lacks); !same {
			t.Fatalf("seed %d: missing %v, without %v: %v by %v", seed, left, more, servant, owner)
		}
		kept := whole.Clone()
		kept.Keep(owner)
		if kept.Len()+missing.Len() != whole.Len() {
			t.Fatalf("seed %d: %d kept and %d missing of %d", seed, kept.Len(), missing.Len(), whole.Len())
		}
		if all, _ := validation.Covers(owner, kept.Rules()); !all {
			t.Fatalf("seed %d: kept %v, which %v does not cover", seed, kept.Rules(), owner)
		}
		counted[covers]++
	}
	if counted[true] < 20 || counted[false] < 20 {
		t.Errorf("%v", counted)
	}
}

// words returns n different values.
func words(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

// TestRulesAreJoined checks that what is left has few rules.
func TestRulesAreJoined(t *testing.T) {
	s := coverage.New([]rbacv1.PolicyRule{rule(words("v", 4), words("g", 4), words("r", 1000), nil)}, coverage.WorkOfRequest)
	if got := s.Rules(); len(got) != 1 {
		t.Errorf("%d rules of a whole one", len(got))
	}
	s.GrantAll([]rbacv1.PolicyRule{rule([]string{"v1"}, []string{"g1"}, []string{"r5"}, nil), rule([]string{"v2"}, []string{"*"}, []string{"*"}, nil)})
	if got := s.Rules(); len(got) != 12 || s.Len() != 16*1000-1-4*1000 {
		t.Errorf("%d rules, %d permissions", len(got), s.Len())
	}
	for _, n := range []int{0, 1, 1500, 1 << 20} {
		some := coverage.New(s.Some(n), coverage.WorkOfRequest)
		if want := min(n, s.Len()); some.Len() != want {
			t.Errorf("%d permissions, wanted %d", some.Len(), want)
		}
		if some.GrantAll(s.Rules()); !some.Empty() {
			t.Errorf("%d of %d permissions are not among those that are left", some.Len(), n)
		}
	}
}

// TestWorkIsBounded holds that a Set stops at its limit, and that it then counts nothing more as
// granted.
//
// Attack: rules that are short, and whose comparison takes seconds
// Answer: the comparison stops after some milliseconds, and the caller counts as not holding the rules
func TestWorkIsBounded(t *testing.T) {
	var wanted, held []rbacv1.PolicyRule
	for i := range 4096 {
		wanted = append(wanted, rule([]string{fmt.Sprint("v", i)}, []string{""}, []string{"pods"}, nil))
	}
	for range 64 {
		held = append(held, slices.Clone(wanted)...)
	}
	slices.Reverse(held)
	s := coverage.New(wanted, coverage.WorkOfRequest)
	for i := range held {
		s.Grant(&held[i])
		if s.Exhausted() {
			if i > coverage.WorkOfRequest/1000 {
				t.Errorf("%d rules were compared", i)
			}
			break
		}
	}
	left := s.Len()
	s.GrantAll([]rbacv1.PolicyRule{rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)})
	if !s.Exhausted() || left == 0 || s.Len() != left {
		t.Errorf("exhausted: %t, %d permissions left, later %d", s.Exhausted(), left, s.Len())
	}
	// The twin: within the limit, they are granted.
	s = coverage.New(wanted[:100], coverage.WorkOfRequest)
	s.GrantAll(wanted[:100])
	if !s.Empty() || s.Exhausted() {
		t.Errorf("exhausted: %t, %d permissions left", s.Exhausted(), s.Len())
	}
}

// TestTooMany holds that rules with more permissions than a Set can have are never granted.
func TestTooMany(t *testing.T) {
	all := rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)
	for n, want := range map[int]bool{8: true, 33: false, 1 << 16: false} {
		s := coverage.New([]rbacv1.PolicyRule{rule(words("v", 64), words("g", 64), words("r", n), nil)}, coverage.WorkOfCreation)
		s.Grant(&all)
		if s.Empty() != want || s.Exhausted() == want {
			t.Errorf("%d resources: empty %t, exhausted %t", n, s.Empty(), s.Exhausted())
		}
	}
	// Repeated values count once.
	same := slices.Repeat([]string{"x"}, 1<<10)
	s := coverage.New([]rbacv1.PolicyRule{rule(same, same, same, same)}, coverage.WorkOfRequest)
	if got := s.Rules(); s.Len() != 1 || len(got) != 1 || len(got[0].Resources) != 1 {
		t.Errorf("%d permissions, wanted 1; %v", s.Len(), got)
	}
}

// TestManyRules holds that reading rules is work, too: a role with many small rules reaches the limit of
// a request before anything is compared.
//
// Attack: selecting a role that repeats one rule 16,384 times, whose rules are read for each request
// Answer: the caller counts as not holding the rules, at once
// Was: a second of processor time for each request
func TestManyRules(t *testing.T) {
	one := rule([]string{"get"}, []string{""}, []string{"configmaps"}, nil)
	for n, want := range map[int]bool{1 << 14: true, 1 << 12: false} {
		s := coverage.New(slices.Repeat([]rbacv1.PolicyRule{one}, n), coverage.WorkOfRequest)
		if s.Exhausted() != want || s.Empty() {
			t.Errorf("%d rules: exhausted %t, empty %t", n, s.Exhausted(), s.Empty())
		}
		if s.Grant(&one); s.Exhausted() != want || s.Empty() == want {
			t.Errorf("%d rules, granted: exhausted %t, empty %t, %d left", n, s.Exhausted(), s.Empty(), s.Len())
		}
	}
}
