// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestObjectsOfConditions checks which objects a condition sees: no old one where nothing is stored, and none at all
// for a delete or for an object that has no content. These are refused.
func TestObjectsOfConditions(t *testing.T) {
	now, stored := custom("example.com/v1", map[string]any{"a": int64(1)}), custom("example.com/v1", map[string]any{"a": int64(2)})
	empty := custom("example.com/v1", nil)
	empty.SetUID("")
	for name, tc := range map[string]struct {
		expression     string
		newObj, oldObj runtime.Object
		says           string
	}{
		"an update":                     {"oldObject.spec.a == 2", now, stored, ""},
		"an update is no creation":      {"oldObject == null", now, stored, "does not allow the write"},
		"a creation":                    {"oldObject == null", now, nil, ""},
		"a creation by an update":       {"oldObject == null", now, empty, ""},
		"a delete":                      {"true", nil, stored, "a delegation with conditions can't delete"},
		"a new object of unknown kind":  {"true", &strange{}, stored, "the kind of the object is not known"},
		"an old object of unknown kind": {"true", now, &strange{ObjectMeta: metav1.ObjectMeta{UID: "x"}}, "the kind of the object is not known"},
	} {
		refusal := chainUnder(t, tc.expression).verify(t.Context(), tc.newObj, tc.oldObj)
		if (refusal == nil) != (tc.says == "") || refusal != nil && !strings.Contains(refusal.Message, tc.says) {
			t.Errorf("%s: %v, want %q", name, refusal, tc.says)
		}
	}
}

// TestExists checks which old objects are in storage. One without metadata counts as stored.
func TestExists(t *testing.T) {
	for name, tc := range map[string]struct {
		obj  runtime.Object
		want bool
	}{
		"empty":            {&strange{}, false},
		"with a UID":       {&strange{ObjectMeta: metav1.ObjectMeta{UID: "x"}}, true},
		"with a version":   {&strange{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}, true},
		"only with a name": {&strange{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, false},
		"without metadata": {&metav1.Status{}, true},
	} {
		if Exists(tc.obj) != tc.want {
			t.Errorf("%s: %t, want %t", name, !tc.want, tc.want)
		}
	}
}

// TestSelectedObjects checks that objectUIDs include only stored objects with one of these UIDs.
func TestSelectedObjects(t *testing.T) {
	d := &Delegation{objects: sets.New[types.UID]("x", "")}
	for name, tc := range map[string]struct {
		obj  runtime.Object
		want bool
	}{
		"included":         {&strange{ObjectMeta: metav1.ObjectMeta{UID: "x"}}, true},
		"another":          {&strange{ObjectMeta: metav1.ObjectMeta{UID: "y"}}, false},
		"none":             {nil, false},
		"without metadata": {&metav1.Status{}, false},
	} {
		if isSelectedObject(tc.obj, d) != tc.want {
			t.Errorf("%s: %t, want %t", name, !tc.want, tc.want)
		}
	}
	chain := chainUnder(t, "", func(d *v1alpha1.AuthorityDelegation) { d.Spec.ObjectUIDs = []types.UID{"x"} })
	here, other := custom("example.com/v1", nil), custom("example.com/v1", nil)
	other.SetUID("y")
	if refusal := chain.verify(t.Context(), here, here); refusal != nil {
		t.Errorf("the object itself: %v", refusal)
	}
	for name, old := range map[string]runtime.Object{"another object": other, "a new object": nil} {
		if refusal := chain.verify(t.Context(), other, old); refusal == nil || !strings.Contains(refusal.Message, "does not include this object in objectUIDs") {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}

// TestBudgetIsExact checks that a condition may use the whole budget, and no more.
func TestBudgetIsExact(t *testing.T) {
	compiled, err := compileOne(v1alpha1.DelegationCondition{Expression: "object.spec.a == 1", APIVersions: []string{"example.com/v1"}}, environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	input := func(budget int64) *conditionInput {
		return &conditionInput{ctx: t.Context(), newObj: custom("example.com/v1", map[string]any{"a": int64(1)}), budget: budget}
	}
	compiled.versions = append(compiled.versions, "")
	first := input(1000)
	if refusal := compiled.check("it", first); refusal != nil {
		t.Fatal(refusal)
	}
	cost := 1000 - first.budget
	if refusal := compiled.check("it", input(cost)); refusal != nil {
		t.Errorf("with a budget of %d: %v", cost, refusal)
	}
	if refusal := compiled.check("it", input(cost-1)); refusal == nil || !strings.Contains(refusal.Message, "cost limit") {
		t.Errorf("with a budget of %d: %v", cost-1, refusal)
	}
}

// entering is the context of a caller that waits for a lane. Something happens as soon as it waits.
type entering struct {
	context.Context
	meanwhile func()
}

func (e *entering) Done() <-chan struct{} {
	e.meanwhile()
	return nil
}

// TestCompiledMeanwhile checks that a caller that waited for another one's compilation has its result, also if the
// conditions do not compile.
func TestCompiledMeanwhile(t *testing.T) {
	broken := errors.New("broken")
	waiting := &conditions{all: []v1alpha1.DelegationCondition{{Expression: "true"}}}
	if err := storedLane.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := waiting.compiled(&entering{t.Context(), func() {
		waiting.done.Store(&compiledConditions{err: broken})
		storedLane.Leave()
	}})
	if all != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v", all, err)
	}
}

// TestCompileNew checks that a new condition that does not compile is an error, that one after another is compiled, and
// that a caller that leaves waits no longer.
func TestCompileNew(t *testing.T) {
	for _, tc := range []struct {
		expression string
		ok         bool
	}{{"true", true}, {"object.", false}, {"1", false}, {"object.spec.a == 1", true}} {
		if err := Compile(t.Context(), tc.expression); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.expression, err)
		}
		if len(newLane) != 0 {
			t.Fatalf("%s: the lane is not free", tc.expression)
		}
	}
	if err := newLane.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer newLane.Leave()
	gone := errors.New("the client has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := Compile(ctx, "true"); !errors.Is(err, gone) {
		t.Errorf("a caller that left: %v", err)
	}
}
