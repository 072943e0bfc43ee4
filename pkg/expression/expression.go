// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/klog/v2"

	"kube-granular.dev/granular/schema"
)

const (
	// MaxLength is the maximum length of an expression, in bytes. Upstream has no such limit on
	// validation rules, but a validation rule is evaluated once for an object, and an expression
	// once for each key in an object.
	MaxLength = 1024
	// MaxKeyLength is the length, in bytes, of the key for which the cost of an expression is
	// estimated: the longest key of a label, which is a DNS subdomain, a slash and a name. An
	// expression is evaluated for longer keys too, as long as the evaluation costs at most MaxCost.
	MaxKeyLength = 253 + 1 + 63
	// MaxCost is the maximum cost of one evaluation, both estimated and at run time, in the units
	// of upstream's PerCallLimit. By upstream's estimate (k8s.io/apiserver/pkg/apis/cel), a
	// million units take a tenth of a second, so MaxCost units take about a millisecond.
	MaxCost = 10_000
	// EvaluationCost is added to the cost that CEL counts for an evaluation, so that constant
	// expressions, which CEL counts as free, cost something. It stands for about a microsecond.
	EvaluationCost = 10
)

const self = "self"

// parameters is the language of parameter expressions.
var parameters = NewDialect(cel.StringType, MaxLength, MaxCost, cel.Variable(self, cel.StringType))

// Language compiles expressions. It implements schema.Expressions.
type Language struct {
	kind environment.Type
	lane Lane
	// unbounded has the stored expressions that exceed the bounds of new ones, and what they were
	// compiled to.
	unbounded sync.Map
}

var (
	_ schema.Expressions = &Language{}
	_ schema.Expression  = &parameter{}
)

// Accepted returns the Language for new expressions. Its Compile refuses an expression that exceeds
// the bounds of this package, or whose estimated cost is above MaxCost.
func Accepted() *Language { return &Language{kind: environment.NewExpressions, lane: NewLane()} }

// Stored returns the Language for stored expressions, which this or another version of the server
// accepted. Its Compile does not estimate the cost of an expression, because another version may
// have estimated it differently. It also compiles an expression that exceeds the bounds of this
// package, once, and warns in the log: without the expression the definition would lose its
// permission tree, and nobody could write its objects. Its evaluations are bounded all the same.
func Stored() *Language { return &Language{kind: environment.StoredExpressions, lane: NewLane()} }

// Compile compiles an expression. For a new expression it also checks the estimated cost.
func (l *Language) Compile(expression string) (schema.Expression, error) {
	language, err := parameters.languages[l.kind]()
	if err != nil {
		return nil, err
	}
	bounded := parameters.judged(language, expression)
	if bounded != nil {
		if l.kind == environment.NewExpressions || len(expression) > MaxLength {
			return nil, bounded
		}
		if known, found := l.unbounded.Load(expression); found {
			return known.(*parameter), nil
		}
	}
	l.lane <- struct{}{} // no request ends the wait
	defer l.lane.Leave()
	checked, err := parameters.check(language, expression)
	if err != nil {
		return nil, err
	}
	if l.kind == environment.NewExpressions {
		if name := unavailable(checked.NativeRep().Expr()); name != "" {
			return nil, fmt.Errorf("calls %s, which is not available", name)
		}
		if err := estimate(language.env, checked); err != nil {
			return nil, err
		}
	}
	program, err := parameters.plan(language, checked)
	if err != nil {
		return nil, err
	}
	out := &parameter{program}
	if bounded != nil {
		klog.InfoS("Compiled a stored parameter expression that exceeds the bounds of new ones; write the definition with another expression",
			"expression", expression, "reason", bounded.Error())
		l.unbounded.Store(expression, out)
	}
	return out, nil
}

// Exceeds returns why a parameter expression exceeds the bounds of new ones, or nil.
func Exceeds(expression string) error { return parameters.Judge(expression) }

func estimate(env *cel.Env, ast *cel.Ast) error {
	cost, err := env.EstimateCost(ast, estimator{})
	if err != nil {
		return fmt.Errorf("its cost can't be estimated: %w", err)
	}
	if cost.Max > MaxCost {
		estimated := "without bound"
		if cost.Max < math.MaxUint64 {
			estimated = fmt.Sprintf("%d", cost.Max)
		}
		return fmt.Errorf("is too costly: its cost for a key of %d bytes is estimated at %s, the limit is %d", MaxKeyLength, estimated, MaxCost)
	}
	return nil
}

// parameter is a compiled parameter expression.
type parameter struct{ program *Program }

// Parameter returns the result of the expression for a key, and the cost of the evaluation. The
// cost is returned even together with an error.
func (p *parameter) Parameter(ctx context.Context, key string) (text string, cost int64, err error) {
	if !utf8.ValidString(key) {
		return "", EvaluationCost, errors.New("the key is not UTF-8")
	}
	value, cost, err := p.program.Evaluate(ctx, map[string]any{self: key}, MaxCost)
	cost = EvaluationCost + min(cost, MaxCost)
	if err != nil {
		return "", cost, err
	}
	text, ok := value.Value().(string)
	if !ok {
		return "", cost, errors.New("the result is not a string")
	}
	return text, cost, nil
}

// estimator tells CEL's cost estimation the maximum size of the variable self, the key.
type estimator struct{}

func (estimator) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if path := element.Path(); len(path) == 1 && path[0] == self {
		return &checker.SizeEstimate{Min: 0, Max: MaxKeyLength}
	}
	return nil
}

func (estimator) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return (&library.CostEstimator{SizeEstimator: estimator{}}).EstimateCallCost(function, overload, target, args)
}
