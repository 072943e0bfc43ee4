// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "context"

// Expression is a compiled expression that computes a permission's parameter from a key or value.
// Any number of goroutines may use it at the same time.
type Expression interface {
	// Parameter returns the parameter that a permission has for key, which is the key of a map or
	// a value, and the cost of computing it. The cost is positive and bounded, even with an error.
	// With an error, no verb of the permission covers key. Parameter stops when ctx ends.
	Parameter(ctx context.Context, key string) (parameter string, cost int64, err error)
}

// Expressions compiles expressions of x-kubernetes-permission-parameter-expression and bounds
// their cost. This package does not know the language of expressions, so an implementation must be
// passed to WithExpressions. Errors of an implementation never contain the text of the expression.
type Expressions interface {
	Compile(expression string) (Expression, error)
}

// Option configures how models are compiled.
type Option func(*Models)

// WithExpressions sets the language of parameter expressions. Without this option, a schema that
// has an expression is refused.
func WithExpressions(e Expressions) Option {
	return func(m *Models) { m.expressions = e }
}

// WithMaxPermissionsOnPath sets how many permissions may cover one field (the length of its
// chain). A schema with a longer chain is refused. A limit above MaxPermissionsOnPath is lowered
// to MaxPermissionsOnPath.
func WithMaxPermissionsOnPath(limit int) Option {
	return func(m *Models) { m.maxOnPath = min(limit, MaxPermissionsOnPath) }
}

// expression compiles an expression. If several places of the schema have the same text, it is
// compiled only once.
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
