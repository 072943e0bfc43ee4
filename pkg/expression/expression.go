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
	// MaxLength is the length of the longest expression, in bytes. Upstream has no such limit on
	// validation rules. But a rule is evaluated once for an object, and an expression once for
	// each key.
	MaxLength = 1024
	// MaxKeyLength is the length of the key for which the cost is estimated, in bytes: a DNS
	// subdomain, a slash and a name, as in labels and finalizers. Longer keys are evaluated too,
	// up to MaxCost.
	MaxKeyLength = 253 + 1 + 63
	// MaxCost is the highest cost of one evaluation, both estimated and at run time, in the units
	// of upstream's PerCallLimit. A million units take a tenth of a second
	// (k8s.io/apiserver/pkg/apis/cel), so MaxCost is about a millisecond for a key.
	MaxCost = 10_000
	// EvaluationCost is added to the cost of each evaluation. It stands for about a microsecond,
	// so that constant expressions, which CEL counts as free, cost something.
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

// Accepted returns the Language for new expressions, which estimates and limits their cost.
func Accepted() *Language { return &Language{of: environment.NewExpressions} }

// Stored returns the Language for stored expressions, which some version of the server accepted.
// It does not estimate their cost, because versions may estimate differently.
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

// firstOf returns the text of the first issue, without the excerpt of the source.
func firstOf(issues *cel.Issues) string {
	for _, e := range issues.Errors() {
		return fmt.Sprintf("column %d: %s", e.Location.Column()+1, strings.TrimSpace(e.Message))
	}
	return "unknown reason"
}

type program struct {
	program cel.Program
}

// Parameter evaluates the expression for a key. It returns the cost even with an error.
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

// estimator estimates the size of the key, which the library does not know.
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
