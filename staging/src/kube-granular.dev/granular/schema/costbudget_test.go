// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"testing"
)

// costly is an expression that costs a given amount.
type costly struct {
	cost int64
	err  error
	// during is called during each evaluation.
	during func()
}

func (c *costly) Parameter(_ context.Context, key string) (string, int64, error) {
	if c.during != nil {
		c.during()
	}
	return key, c.cost, c.err
}

// incomparable is an expression that is not comparable in Go.
type incomparable func()

func (incomparable) Parameter(_ context.Context, key string) (string, int64, error) {
	return key, 1, nil
}

func permissionOf(e Expression) *Permission {
	return &Permission{Name: "a", Parameter: &Parameter{Expression: e}}
}

func TestCostBudgetLimit(t *testing.T) {
	for _, tc := range []struct {
		name        string
		limit, cost int64
		keys        []string
		// covered has the keys for which there is a verb.
		covered            string
		spent, evaluations int64
	}{
		{"below", 10, 3, []string{"a", "b", "c"}, "abc", 9, 3},
		{"up to the limit", 9, 3, []string{"a", "b", "c"}, "abc", 9, 3},
		{"past it", 8, 3, []string{"a", "b", "c", "d"}, "ab", 9, 3},
		{"what is known stays known", 8, 3, []string{"a", "b", "c", "a", "b", "c"}, "abab", 9, 3},
		{"one past it alone", 2, 3, []string{"a", "a"}, "", 3, 1},
		{"nothing is free", 2, 0, []string{"a", "b", "c"}, "ab", 2, 2},
		{"nothing earns", 2, -5, []string{"a", "b", "c"}, "ab", 2, 2},
		{"no limit at all", 0, 3, []string{"a"}, "", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, p, covered := NewCostBudget(tc.limit), permissionOf(&costly{cost: tc.cost}), ""
			for _, key := range tc.keys {
				v, err := p.Verb(t.Context(), s, key)
				if err == nil {
					if covered += v.Parameter; v.Parameter != key {
						t.Errorf("%s covers %q", v, key)
					}
				} else if !errors.Is(err, ErrCostExceeded) {
					t.Error(err)
				}
			}
			if covered != tc.covered || s.Spent() != tc.spent || s.Evaluations() != int(tc.evaluations) || s.Limit() != tc.limit {
				t.Errorf("covered %q, spent %d in %d evaluations", covered, s.Spent(), s.Evaluations())
			}
		})
	}
}

func TestCostBudgetRemembers(t *testing.T) {
	s := NewCostBudget(100)
	fails := errors.New("no parameter")
	one, other, failing := &costly{cost: 1}, &costly{cost: 1}, &costly{cost: 1, err: fails}
	for range 3 {
		for _, e := range []Expression{one, other, failing} {
			// Two permissions may have the same expression.
			for _, p := range []*Permission{permissionOf(e), permissionOf(e)} {
				v, err := p.Verb(t.Context(), s, "key")
				if e == failing && !errors.Is(err, fails) || e != failing && (err != nil || v.Parameter != "key") {
					t.Error(v, err)
				}
			}
		}
	}
	if s.Evaluations() != 3 || s.Spent() != 3 {
		t.Errorf("%d evaluations, %d spent", s.Evaluations(), s.Spent())
	}
	// An expression that is not comparable is evaluated and charged each time.
	for range 2 {
		if v, err := permissionOf(incomparable(nil)).Verb(t.Context(), s, "key"); err != nil || v.Parameter != "key" {
			t.Error(v, err)
		}
	}
	if s.Evaluations() != 5 || s.Spent() != 5 {
		t.Errorf("%d evaluations, %d spent", s.Evaluations(), s.Spent())
	}
}

// TestCostBudgetInterrupted checks that a result is neither used nor remembered if the context
// ended during the evaluation.
func TestCostBudgetInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &costly{cost: 1, during: cancel}
	s := NewCostBudget(100)
	if _, err := permissionOf(e).Verb(ctx, s, "key"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if v, err := permissionOf(e).Verb(t.Context(), s, "key"); err != nil || v.Parameter != "key" || s.Evaluations() != 2 {
		t.Errorf("%v, %v, %d evaluations", v, err, s.Evaluations())
	}
}

func TestNoCostBudget(t *testing.T) {
	if _, err := permissionOf(&costly{cost: 1}).Verb(t.Context(), nil, "key"); !errors.Is(err, ErrCostExceeded) {
		t.Error(err)
	}
	if v, err := (&Permission{Name: "a"}).Verb(t.Context(), nil, "key"); err != nil || v.String() != "granular:a" {
		t.Error(v, err)
	}
}
