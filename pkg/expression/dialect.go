// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// MaxTime is the maximum time of one evaluation. The budget of an evaluation ends it far earlier, also
// on a machine that is busy with other work; this is the last defence.
const MaxTime = 5 * time.Second

// ErrCost is the error of an evaluation that costs more than its budget.
var ErrCost = errors.New("operation cancelled: actual cost limit exceeded")

// Dialect is the language of one kind of expression: CEL with the functions that Kubernetes adds,
// with given variables and a given type of the result.
type Dialect struct {
	result    *cel.Type
	maxLength int
	maxCost   int64
	set       func() (*environment.EnvSet, error)
	languages map[environment.Type]func() (*language, error)
}

// language is a Dialect in the versions of CEL that are accepted, or that are only stored.
type language struct {
	env      *cel.Env
	bindings map[string]*functions.Overload
	// dispatcher has the bindings as well, for the interpreter.
	dispatcher interpreter.Dispatcher
	judge      judge
}

// NewDialect returns a Dialect. Expressions have at most maxLength bytes, and an evaluation never
// costs more than maxCost.
func NewDialect(result *cel.Type, maxLength int, maxCost int64, variables ...cel.EnvOption) *Dialect {
	d := &Dialect{result: result, maxLength: maxLength, maxCost: maxCost, languages: map[environment.Type]func() (*language, error){}}
	d.set = sync.OnceValues(func() (*environment.EnvSet, error) {
		return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables,
		})
	})
	for _, kind := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
		d.languages[kind] = sync.OnceValues(func() (*language, error) { return d.newLanguage(kind) })
	}
	return d
}

func (d *Dialect) newLanguage(kind environment.Type) (*language, error) {
	set, err := d.set()
	if err != nil {
		return nil, err
	}
	env, err := set.Env(kind)
	if err != nil {
		return nil, err
	}
	bindings, err := bindingsOf(env)
	if err != nil {
		return nil, err
	}
	dispatcher := interpreter.NewDispatcher()
	if err := dispatcher.Add(slices.Collect(maps.Values(bindings))...); err != nil {
		return nil, err
	}
	l := &language{env: env, bindings: bindings, dispatcher: dispatcher, judge: judge{overloads: map[string]int{}, parametric: map[string]int{}}}
	for name, f := range env.Functions() {
		for _, o := range f.OverloadDecls() {
			l.judge.overloads[name]++
			if len(o.TypeParams()) > 0 {
				l.judge.parametric[name]++
			}
		}
	}
	return l, nil
}

// Compile compiles an expression that the bounds of this package allow, and refuses all others
// before they are given to the type checker.
func (d *Dialect) Compile(expression string, kind environment.Type) (*Program, error) {
	l, err := d.languages[kind]()
	if err != nil {
		return nil, err
	}
	if err := d.judged(l, expression); err != nil {
		return nil, err
	}
	checked, err := d.check(l, expression)
	if err != nil {
		return nil, err
	}
	if name := unavailable(checked.NativeRep().Expr()); name != "" {
		return nil, fmt.Errorf("calls %s, which is not available", name)
	}
	return d.plan(l, checked)
}

// Judge returns why the bounds of this package do not allow an expression, or nil. It does not check
// types.
func (d *Dialect) Judge(expression string) error {
	l, err := d.languages[environment.StoredExpressions]()
	if err != nil {
		return err
	}
	return d.judged(l, expression)
}

// judged returns why the bounds of this package do not allow an expression.
func (d *Dialect) judged(l *language, expression string) error {
	if len(expression) > d.maxLength {
		return fmt.Errorf("is longer than %d bytes", d.maxLength)
	}
	return l.judge.Judge(expression)
}

func (d *Dialect) check(l *language, expression string) (*cel.Ast, error) {
	checked, issues := l.env.CompileSource(plainSource{common.NewTextSource(expression)})
	if len(issues.Errors()) > 0 {
		return nil, fmt.Errorf("does not compile: %s", firstOf(issues))
	}
	if checked.OutputType() != d.result {
		return nil, fmt.Errorf("must return a %s", d.result)
	}
	return checked, nil
}

// plainSource is an expression whose lines errors do not show. The text of an error that shows its line takes memory that
// grows with the square of its column, CEL makes these texts of all errors, and it makes them twice.
type plainSource struct{ common.Source }

// Snippet finds no line.
func (plainSource) Snippet(int) (line string, found bool) { return }

// plan makes a program with the interpreter of CEL. It does not use cel.Env.Program, whose options in
// the environments of Kubernetes count costs on a stack that grows with each iteration of a loop, and
// that is searched in each.
func (d *Dialect) plan(l *language, checked *cel.Ast) (*Program, error) {
	provider, adapter, container := l.env.CELTypeProvider(), l.env.CELTypeAdapter(), l.env.Container
	planner := interpreter.NewInterpreter(l.dispatcher, container, provider, adapter,
		interpreter.NewAttributeFactory(container, adapter, provider))
	metered, steps := newMetering(l.bindings, checked.NativeRep().Expr())
	plan, err := planner.NewInterpretable(checked.NativeRep(),
		interpreter.CustomDecoratorV2(metered.decorate), interpreter.InterruptableEval(), interpreter.Optimize(),
		interpreter.CompileRegexConstants(interpreter.MatchesRegexOptimization, library.FindRegexOptimization, library.FindAllRegexOptimization))
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return &Program{plan: plan, steps: steps, maxCost: d.maxCost}, nil
}

// unavailable returns a function that an expression calls and that is not available, or "".
func unavailable(e ast.Expr) (name string) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			if _, known := available[e.AsCall().FunctionName()]; !known {
				name = e.AsCall().FunctionName()
			}
		}
	}))
	return name
}

// firstOf returns the position and the message of the first compile error.
func firstOf(issues *cel.Issues) string {
	for _, e := range issues.Errors() {
		return fmt.Sprintf("column %d: %s", e.Location.Column()+1, strings.TrimSpace(e.Message))
	}
	return "unknown reason"
}

// Program is a compiled expression.
type Program struct {
	plan           interpreter.InterpretableV2
	steps, maxCost int64
}

// Evaluate returns the result of the expression and the cost of the evaluation, which is returned
// even together with an error: the steps, and the work of the calls. The evaluation ends with
// ErrCost before its cost exceeds the budget. variables must not be used by another goroutine
// meanwhile.
func (p *Program) Evaluate(ctx context.Context, variables map[string]any, budget int64) (value ref.Val, cost int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxTime, ErrCost)
	defer cancel()
	m := &meter{budget: min(budget, p.maxCost)}
	variables[meterName] = m
	frame, err := interpreter.NewExecutionFrame(variables)
	if err != nil {
		return nil, 0, err
	}
	defer frame.Close()
	if err := frame.SetContext(ctx, celconfig.CheckFrequency); err != nil {
		return nil, 0, err
	}
	defer func() {
		cost = m.spent
		if why := recover(); why != nil {
			value, err = nil, fmt.Errorf("internal error: %v", why)
			if cancelled, ok := why.(interpreter.EvalCancelledError); ok && cancelled.Cause == interpreter.CostLimitExceeded {
				err = ErrCost
			}
		}
	}()
	m.spend(p.steps)
	value = p.plan.Exec(frame)
	failed, isErr := value.(*types.Err)
	switch {
	case isErr && errors.Is(failed, interpreter.InterruptError{}):
		return nil, 0, fmt.Errorf("%w: %w", failed, context.Cause(ctx))
	case isErr:
		return nil, 0, failed
	}
	return value, 0, nil
}
