// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"kube-granular.dev/api/authority/v1alpha1"
)

// budget limits the CEL cost of all expressions of a chain together, and so of each one. It is
// upstream's limit for one expression of an admission policy, which takes about a tenth of a second
// by upstream's estimate. Upstream allows ten times as much for all expressions of a policy; but
// administrators write policies, and users without other rights may write delegations.
const budget = celconfig.PerCallLimit

// The variables that an expression can use.
const (
	objectVariable    = "object"
	oldObjectVariable = "oldObject"
	hashVariable      = "podTemplateHash"
	oldHashVariable   = "oldPodTemplateHash"
)

var environments = sync.OnceValues(func() (*environment.EnvSet, error) {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable(objectVariable, cel.DynType), cel.Variable(oldObjectVariable, cel.DynType),
			cel.Variable(hashVariable, cel.StringType), cel.Variable(oldHashVariable, cel.StringType),
		},
	})
})

// condition is a compiled CEL condition of a delegation.
type condition struct {
	program               cel.Program
	source                string
	message               string
	versions              []string
	usesHash, usesOldHash bool // whether the expression mentions the hash variables
}

// conditions are the conditions of a delegation. They are compiled when they are first evaluated:
// compiling takes up to some tenths of a second, during which neither the index is locked nor other
// requests wait.
type conditions struct {
	all      []v1alpha1.DelegationCondition
	compiled func() ([]condition, error)
}

func newConditions(all []v1alpha1.DelegationCondition) *conditions {
	return &conditions{all, sync.OnceValues(func() ([]condition, error) { return compileAll(all) })}
}

// written returns the conditions as they are stored.
func (c *conditions) written() []v1alpha1.DelegationCondition {
	if c == nil {
		return nil
	}
	return c.all
}

// Compile returns an error if an expression can't be the condition of a new delegation.
func Compile(expression string) error {
	_, err := compileOne(v1alpha1.DelegationCondition{Expression: expression}, environment.NewExpressions)
	return err
}

func compileAll(all []v1alpha1.DelegationCondition) ([]condition, error) {
	var out []condition
	for _, c := range all {
		compiled, err := compileOne(c, environment.StoredExpressions)
		if err != nil {
			return nil, err
		}
		out = append(out, *compiled)
	}
	return out, nil
}

func compileOne(c v1alpha1.DelegationCondition, language environment.Type) (*condition, error) {
	set, err := environments()
	if err != nil {
		return nil, err
	}
	env, err := set.Env(language)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(c.Expression)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			return nil, fmt.Errorf("does not compile: column %d: %s", e.Location.Column()+1, strings.TrimSpace(e.Message))
		}
		return nil, errors.New("does not compile")
	}
	if ast.OutputType() != cel.BoolType {
		return nil, errors.New("must return a bool")
	}
	program, err := env.Program(ast, cel.CostLimit(budget), cel.CostTracking(&library.CostEstimator{}),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return &condition{
		program: program, source: c.Expression, message: c.Message, versions: c.APIVersions,
		usesHash: strings.Contains(c.Expression, hashVariable), usesOldHash: strings.Contains(c.Expression, oldHashVariable),
	}, nil
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
		if text == "" {
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
	variables := map[string]any{objectVariable: s.object.content(), oldObjectVariable: s.old.content(), hashVariable: "", oldHashVariable: ""}
	if c.usesHash {
		variables[hashVariable] = s.object.templateHash()
	}
	if c.usesOldHash {
		variables[oldHashVariable] = s.old.templateHash()
	}
	value, details, err := c.program.ContextEval(s.ctx, variables)
	if cost := details.ActualCost(); cost != nil && *cost < budget {
		s.budget -= int64(*cost)
	} else {
		s.budget -= budget + 1
	}
	switch {
	case s.budget < 0:
		return no(" (the conditions of the chain exceed the cost limit)")
	case err != nil:
		return no(" (the expression failed)")
	case value.Value() != true:
		return no("")
	}
	return nil
}
