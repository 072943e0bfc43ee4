// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/environment"
)

// TestRefusedConditions checks what the refusal of a condition says.
func TestRefusedConditions(t *testing.T) {
	for text, want := range map[string]string{
		`text.matches('(')`:             "does not compile: column 14: invalid matches argument",
		`[1].all(a.b, true)`:            "has a macro all whose variable is not a name",
		`object.optMap(a.b, a) == null`: "has a macro optMap whose variable is not a name",
		`text.format() == ''`:           "calls format on a computed string",
		`format(text, [1]) == ''`:       "does not compile: column 7: found no matching overload",
		`matches(text)`:                 "found no matching overload for 'matches'",
		`object.check('get') == object`: "calls check, which is not available",
		`int('a') == 1`:                 "does not compile: type conversion error",
		`text`:                          "must return a bool",
	} {
		_, err := conditions.Compile(text, environment.NewExpressions)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestNoLanguage checks that a Dialect compiles nothing if its language can't be made.
func TestNoLanguage(t *testing.T) {
	same := func(value ref.Val) ref.Val { return value }
	for want, option := range map[string]cel.EnvOption{
		"broken": func(*cel.Env) (*cel.Env, error) { return nil, errors.New("broken") },
		"singleton function incompatible": cel.Function("f", cel.SingletonUnaryBinding(same),
			cel.Overload("f_int", []*cel.Type{cel.IntType}, cel.IntType, cel.UnaryBinding(same))),
	} {
		d := NewDialect(cel.BoolType, 10, 10, option)
		for _, kind := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
			if _, err := d.Compile(`true`, kind); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("compiled: %v, want %q", err, want)
			}
		}
		if err := d.Judge(`true`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("judged: %v, want %q", err, want)
		}
	}
}

// broken is a list that can't be read.
type broken struct{ traits.Lister }

func (broken) Get(ref.Val) ref.Val { panic("broken") }

// TestPanics checks that an evaluation which panics fails, and has no result.
func TestPanics(t *testing.T) {
	program, err := conditions.Compile(`object[0] == 1`, environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	list := broken{types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{types.Int(1)})}
	value, cost, err := program.Evaluate(t.Context(), map[string]any{"object": list}, testBudget)
	if value != nil || cost == 0 || err == nil || err.Error() != "internal error: broken" {
		t.Errorf("got %v, cost %d, %v", value, cost, err)
	}
}

// TestNoOverload checks what an evaluation says whose values do not fit a function.
func TestNoOverload(t *testing.T) {
	for _, text := range []string{
		`object.yes + 1 == 2`, `object.yes < 2`, `object.yes.orValue(1) == 1`, `object.yes.size() == 1`, `-object.yes == 1`,
	} {
		program, err := conditions.Compile(text, environment.NewExpressions)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		variables := map[string]any{"object": map[string]any{"yes": true}}
		value, _, err := program.Evaluate(t.Context(), variables, testBudget)
		if value != nil || err == nil || !strings.Contains(err.Error(), "no such overload") {
			t.Errorf("%s: got %v, %v", text, value, err)
		}
	}
}

// TestLane checks that one caller at a time is in a lane, and that a caller does not wait longer than
// its request.
func TestLane(t *testing.T) {
	lane := NewLane()
	if err := lane.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("the client has gone"))
	if err := lane.Enter(ended); err == nil || err.Error() != "the client has gone" {
		t.Errorf("a second caller: %v", err)
	}
	lane.Leave()
	if len(lane) != 0 {
		t.Error("the lane is not free")
	}
	stored := Stored()
	for _, text := range []string{`self`, `self +`, `self.lowerAscii()`} {
		if _, err := stored.Compile(text); (err != nil) != strings.HasSuffix(text, "+") || len(stored.lane) != 0 {
			t.Errorf("%s: %v, %d callers are left in the lane", text, err, len(stored.lane))
		}
	}
}
