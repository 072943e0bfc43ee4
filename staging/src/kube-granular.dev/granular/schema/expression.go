// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "context"

// Expression computes a parameter from a key. It may be used by any number of goroutines.
type Expression interface {
	// Parameter returns the parameter for a key and the cost of computing it. The cost is
	// positive and bounded, also on failure. An error means that the permission has no parameter
	// for this key, so it covers nothing there. Parameter stops when the context ends.
	Parameter(ctx context.Context, key string) (parameter string, cost int64, err error)
}

// Expressions compiles expressions of x-kubernetes-permission-parameter-expression and bounds
// their cost. It is the interface to the implementation of the language. Errors never repeat the
// expression.
type Expressions interface {
	Compile(expression string) (Expression, error)
}

// Option configures how models are compiled.
type Option func(*Models)

// WithExpressions sets the language of parameter expressions. Without it, a schema that has one
// is refused.
func WithExpressions(e Expressions) Option {
	return func(m *Models) { m.expressions = e }
}

// WithMaxPermissionsOnPath sets the longest chain of permissions. A limit above
// MaxPermissionsOnPath has no effect.
func WithMaxPermissionsOnPath(limit int) Option {
	return func(m *Models) { m.maxOnPath = min(limit, MaxPermissionsOnPath) }
}

// expression compiles an expression, once for all places that have it.
func (c *compiler) expression(text string) (Expression, error) {
	if c.models.expressions == nil {
		return nil, faultf(ExtExpression, "is not supported here, use %s", ExtTreatment)
	}
	if e, ok := c.expressions[text]; ok {
		return e.expression, e.err
	}
	e, err := c.models.expressions.Compile(text)
	if err != nil {
		err = &fault{extension: ExtExpression, reason: err.Error()}
	}
	c.expressions[text] = compiledExpression{e, err}
	return e, err
}

type compiledExpression struct {
	expression Expression
	err        error
}
