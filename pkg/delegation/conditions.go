// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/expression"
)

// budget limits the cost of all expressions of a chain together, and so of each one. It is half of
// upstream's limit for one expression of an admission policy. Upstream allows twenty times as much for all
// expressions of a policy; but administrators write policies, and users without other rights may write
// delegations.
const budget = celconfig.PerCallLimit / 2

// The variables that an expression can use.
const (
	objectVariable    = "object"
	oldObjectVariable = "oldObject"
	hashVariable      = "podTemplateHash"
	oldHashVariable   = "oldPodTemplateHash"
)

// dialect is the language of conditions.
var dialect = expression.NewDialect(cel.BoolType, v1alpha1.MaxExpressionLength, budget,
	cel.Variable(objectVariable, cel.DynType), cel.Variable(oldObjectVariable, cel.DynType),
	cel.Variable(hashVariable, cel.StringType), cel.Variable(oldHashVariable, cel.StringType))

// Conditions of new delegations and those of stored ones are compiled in lanes of their own, so that
// users who create delegations do not delay requests under other delegations.
var newLane, storedLane = expression.NewLane(), expression.NewLane()

// condition is a compiled CEL condition of a delegation.
type condition struct {
	program  *expression.Program
	source   string
	message  string
	versions []string
}

// conditions are the conditions of a delegation. They are compiled when they are first evaluated, and
// the index is not locked meanwhile.
type conditions struct {
	all  []v1alpha1.DelegationCondition
	done atomic.Pointer[compiledConditions]

	judge   sync.Once
	problem string // see ConditionProblem
}

// compiledConditions is what conditions were compiled to, or why they can't be compiled.
type compiledConditions struct {
	all []condition
	err error
}

func newConditions(all []v1alpha1.DelegationCondition) *conditions { return &conditions{all: all} }

// written returns the conditions as they are stored.
func (c *conditions) written() []v1alpha1.DelegationCondition {
	if c == nil {
		return nil
	}
	return c.all
}

// compiled returns the compiled conditions. Stored conditions must meet the bounds of new ones,
// because another version of the server may have accepted them, and they are compiled again by each
// server after each start. Only one caller compiles; the others wait until ctx ends.
func (c *conditions) compiled(ctx context.Context) ([]condition, error) {
	if done := c.done.Load(); done != nil {
		return done.all, done.err
	}
	if err := storedLane.Enter(ctx); err != nil {
		return nil, err
	}
	defer storedLane.Leave()
	if done := c.done.Load(); done != nil {
		return done.all, done.err
	}
	done := &compiledConditions{}
	for i, one := range c.all {
		compiled, err := compileOne(one, environment.StoredExpressions)
		if err != nil {
			done = &compiledConditions{err: fmt.Errorf("conditions[%d]: %w", i, err)}
			break
		}
		done.all = append(done.all, *compiled)
	}
	c.done.Store(done)
	return done.all, done.err
}

// ConditionProblem returns why no condition of the delegation can be used, or "" if the bounds of new
// conditions allow them all. The status of the delegation shows it.
func (d *Delegation) ConditionProblem() string {
	d.conditions.judge.Do(func() {
		for i, one := range d.conditions.all {
			if err := dialect.Judge(one.Expression); err != nil {
				d.conditions.problem = fmt.Sprintf("spec.conditions[%d].expression: %v; so the delegation allows no write", i, err)
				return
			}
		}
	})
	return d.conditions.problem
}

// Compile returns an error if an expression can't be the condition of a new delegation.
func Compile(ctx context.Context, expression string) error {
	if err := newLane.Enter(ctx); err != nil {
		return err
	}
	defer newLane.Leave()
	_, err := compileOne(v1alpha1.DelegationCondition{Expression: expression}, environment.NewExpressions)
	return err
}

func compileOne(c v1alpha1.DelegationCondition, kind environment.Type) (*condition, error) {
	program, err := dialect.Compile(c.Expression, kind)
	if err != nil {
		return nil, err
	}
	return &condition{program: program, source: c.Expression, message: c.Message, versions: c.APIVersions}, nil
}

// conditionInput is the new and the old object of one write, on which the conditions of a chain are
// evaluated one after another, and the CEL cost that is left for the remaining conditions.
type conditionInput struct {
	ctx            context.Context
	newObj, oldObj runtime.Object
	// object and old are newObj and oldObj in the form that expressions see. They are converted
	// when the first condition is evaluated.
	object, old *versionedObject
	budget      int64
	// hideSource is true if messages must not contain expressions: those of an ancestor of the
	// selected delegation, which the caller possibly may not know.
	hideSource bool
}

func (s *conditionInput) convert() (err error) {
	if s.object != nil {
		return nil
	}
	if s.newObj == nil {
		return errors.New("a delegation with conditions can't delete")
	}
	if s.object, err = inPreferredVersion(s.newObj); err != nil {
		return err
	}
	if s.old, err = inPreferredVersion(s.oldObj); err != nil {
		return err
	}
	return nil
}

// check returns why a condition refuses the write, or nil if it does not. what describes the
// delegation. The message reveals nothing about the object.
func (c *condition) check(what string, s *conditionInput) *Refusal {
	no := func(why string) *Refusal {
		text := c.message
		switch {
		case text != "":
		case s.hideSource:
			text = "a condition"
		default:
			text = fmt.Sprintf("the condition %q", c.source)
		}
		return refuse(Condition, fmt.Sprintf("%s does not allow the write: %s%s", what, text, why))
	}
	if err := s.convert(); err != nil {
		return no(" (" + err.Error() + ")")
	}
	for _, o := range []*versionedObject{s.object, s.old} {
		if o.custom && !slices.Contains(c.versions, o.apiVersion) {
			return no(fmt.Sprintf(" (apiVersions does not include %s)", o.apiVersion))
		}
	}
	value, cost, err := c.program.Evaluate(s.ctx, map[string]any{
		objectVariable: s.object.content(), oldObjectVariable: s.old.content(),
		hashVariable: s.object.templateHash, oldHashVariable: s.old.templateHash,
	}, s.budget)
	s.budget -= cost
	switch {
	case s.budget < 0, errors.Is(err, expression.ErrCost):
		return no(" (the conditions of the chain exceed the cost limit)")
	case errors.Is(err, errNoTemplate), errors.Is(err, errTwoTemplates):
		return no(" (" + err.Error() + ")")
	case err != nil:
		return no(" (the expression failed)")
	case value.Value() != true:
		return no("")
	}
	return nil
}
