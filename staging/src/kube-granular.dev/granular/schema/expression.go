// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "context"

// Expression makes a parameter from a key. It may be used by any number of
// goroutines.
type Expression interface {
	// Parameter returns the parameter for a key, and what that cost, which is more than
	// nothing and bounded, if it fails too. An error means that the permission has no
	// parameter for this key and so covers nothing of it. The end of the context ends it.
	Parameter(ctx context.Context, key string) (parameter string, cost int64, err error)
}

// Expressions is the port to whoever knows the language of
// x-kubernetes-permission-parameter-expression. It compiles an expression and
// bounds its cost; errors never repeat the expression.
type Expressions interface {
	Compile(expression string) (Expression, error)
}

// Option changes how models are compiled.
type Option func(*Models)

// WithExpressions makes parameter expressions known. Without it a schema that has
// one is refused.
func WithExpressions(e Expressions) Option {
	return func(m *Models) { m.expressions = e }
}

// WithMaxPermissionsOnPath sets the longest chain of permissions; see
// MaxPermissionsOnPath, which it must not exceed to have an effect.
func WithMaxPermissionsOnPath(limit int) Option {
	return func(m *Models) { m.maxOnPath = min(limit, MaxPermissionsOnPath) }
}

// expression compiles an expression, once however many places it stands in.
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
