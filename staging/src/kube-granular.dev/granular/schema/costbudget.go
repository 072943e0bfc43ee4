// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"reflect"
)

// ErrCostExceeded means that the expressions of a request have used up its cost budget.
var ErrCostExceeded = errors.New("the parameter expressions of the request cost too much")

// CostBudget limits the cost of all parameter expressions of one request, and remembers their
// results. For each key or value, an expression is evaluated and charged only once, however many
// permissions, changes and retries of the request need the result. This holds for expressions that
// are comparable in Go; others are evaluated each time.
//
// Invariant: the expressions of a request cost no more than the limit plus one evaluation. A
// permission whose parameter is not computed because of the limit covers nothing. Each evaluation
// costs at least 1, so the number of remembered results is bounded too. A CostBudget is not safe
// for concurrent use.
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

// NewCostBudget returns a budget with a limit, in the unit of the cost that Expression.Parameter
// returns.
func NewCostBudget(limit int64) *CostBudget { return &CostBudget{limit: limit} }

// Limit returns the highest total cost.
func (s *CostBudget) Limit() int64 { return s.limit }

// Spent returns the total cost so far.
func (s *CostBudget) Spent() int64 { return s.spent }

// Evaluations returns the number of evaluations so far.
func (s *CostBudget) Evaluations() int { return s.evaluations }

// parameter returns the parameter that an expression computes for a key or value. It evaluates the
// expression only if the result is not remembered. Errors of the expression are remembered too,
// but neither ErrCostExceeded nor the error of an ended ctx. With a nil CostBudget, parameter
// evaluates nothing and returns ErrCostExceeded.
func (s *CostBudget) parameter(ctx context.Context, expression Expression, key string) (string, error) {
	if s == nil {
		return "", ErrCostExceeded
	}
	entry := evaluation{expression, key}
	comparable := reflect.ValueOf(expression).Comparable()
	if comparable {
		if r, ok := s.known[entry]; ok {
			return r.parameter, r.err
		}
	}
	if s.spent >= s.limit {
		return "", ErrCostExceeded
	}
	s.evaluations++
	parameter, cost, err := expression.Parameter(ctx, key)
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
		s.known[entry] = result{parameter, err}
	}
	return parameter, err
}
