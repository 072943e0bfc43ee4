// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"reflect"
)

// ErrOverspent means that the expressions of a request have cost all that they may.
var ErrCostExceeded = errors.New("the parameter expressions of the request cost too much")

// Spending is what the parameter expressions of one request may cost together, and what
// they made of the keys they met. A key is evaluated once and charged once by each
// expression, in however many permissions, changes and attempts it occurs, if the
// expression is comparable; a result that is remembered costs nothing.
//
// The invariant: the expressions of a request cost no more than the limit and the last of
// them together, and what they gave past the limit covers nothing. As no evaluation is
// free, that bounds what is remembered too. It is not safe for concurrent use.
type CostBudget struct {
	limit, spent int64
	evaluations  int
	known        map[evaluation]result
}

type evaluation struct {
	by  Expression
	key string
}

type result struct {
	parameter string
	err       error
}

// NewSpending returns a Spending with a limit, in the units of Expression.
func NewCostBudget(limit int64) *CostBudget { return &CostBudget{limit: limit} }

// Limit returns what the expressions of the request may cost.
func (s *CostBudget) Limit() int64 { return s.limit }

// Spent returns what they have cost.
func (s *CostBudget) Spent() int64 { return s.spent }

// Evaluations returns how often an expression was evaluated.
func (s *CostBudget) Evaluations() int { return s.evaluations }

// parameter evaluates an expression for a key, unless the result is known. A failure is a
// result; that the context ended is not, and neither is ErrOverspent. Without a Spending
// nothing is evaluated.
func (s *CostBudget) parameter(ctx context.Context, by Expression, key string) (string, error) {
	if s == nil {
		return "", ErrCostExceeded
	}
	of := evaluation{by, key}
	comparable := reflect.ValueOf(by).Comparable()
	if comparable {
		if r, ok := s.known[of]; ok {
			return r.parameter, r.err
		}
	}
	if s.spent >= s.limit {
		return "", ErrCostExceeded
	}
	s.evaluations++
	parameter, cost, err := by.Parameter(ctx, key)
	s.spent += max(cost, 1)
	if ended := ctx.Err(); ended != nil {
		return "", ended
	}
	if s.spent > s.limit {
		return "", ErrCostExceeded
	}
	if comparable {
		if s.known == nil {
			s.known = map[evaluation]result{}
		}
		s.known[of] = result{parameter, err}
	}
	return parameter, err
}
