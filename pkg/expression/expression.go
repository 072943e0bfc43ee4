// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

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

// Language compiles expressions. It implements schema.Expressions.
type Language struct {
	of environment.Type
}

var (
	_ schema.Expressions = &Language{}
	_ schema.Expression  = &program{}
)

// Accepted returns the Language for new expressions. Its Compile refuses an expression whose
// estimated cost is above MaxCost.
func Accepted() *Language { return &Language{of: environment.NewExpressions} }

// Stored returns the Language for stored expressions, which this or another version of the server
// accepted. Its Compile does not estimate the cost of an expression, because another version may
// have estimated it differently.
func Stored() *Language { return &Language{of: environment.StoredExpressions} }

var envSet = sync.OnceValues(func() (*environment.EnvSet, error) {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable(self, cel.StringType)},
	})
})

func env(of environment.Type) (*cel.Env, error) {
	set, err := envSet()
	if err != nil {
		return nil, err
	}
	return set.Env(of)
}

// Compile compiles an expression. For a new expression it also checks the estimated cost.
func (l *Language) Compile(expression string) (schema.Expression, error) {
	if len(expression) > MaxLength {
		return nil, fmt.Errorf("is longer than %d bytes", MaxLength)
	}
	env, err := env(l.of)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, fmt.Errorf("does not compile: %s", firstOf(issues))
	}
	if ast.OutputType() != cel.StringType {
		return nil, errors.New("must return a string")
	}
	if l.of == environment.NewExpressions {
		if err := estimate(env, ast); err != nil {
			return nil, err
		}
	}
	p, err := env.Program(ast, cel.CostLimit(MaxCost), cel.CostTracking(&library.CostEstimator{}),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return &program{program: p}, nil
}

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

// firstOf returns the position and the message of the first compile error, without the lines of the
// expression that CEL shows with it.
func firstOf(issues *cel.Issues) string {
	for _, e := range issues.Errors() {
		return fmt.Sprintf("column %d: %s", e.Location.Column()+1, strings.TrimSpace(e.Message))
	}
	return "unknown reason"
}

type program struct {
	program cel.Program
}

// Parameter returns the result of the expression for a key, and the cost of the evaluation. The
// cost is returned even together with an error.
func (p *program) Parameter(ctx context.Context, key string) (parameter string, cost int64, err error) {
	if !utf8.ValidString(key) {
		return "", EvaluationCost, errors.New("the key is not UTF-8")
	}
	value, details, err := p.program.ContextEval(ctx, map[string]any{self: key})
	cost = EvaluationCost + costOf(details)
	if err != nil {
		return "", cost, err
	}
	parameter, ok := value.Value().(string)
	if !ok {
		return "", cost, errors.New("the result is not a string")
	}
	return parameter, cost, nil
}

// costOf returns the cost of an evaluation. If the cost is not known, it returns MaxCost.
func costOf(details *cel.EvalDetails) int64 {
	if cost := details.ActualCost(); cost != nil && *cost < MaxCost {
		return int64(*cost)
	}
	return MaxCost
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
