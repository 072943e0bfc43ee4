// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// picky is an expression language for parameters: the result of an expression is the key itself.
// For the key "bad", the expression fails.
type picky struct{}

func (picky) Compile(string) (schema.Expression, error) { return picky{}, nil }

func (picky) Parameter(_ context.Context, key string) (string, int64, error) {
	if key == "bad" {
		return "", 1, errors.New("no parameter")
	}
	return key, 1, nil
}

// changed returns the changes between two objects. All arguments are YAML: properties are the
// properties of the schema, old and new the objects.
func changed(t *testing.T, properties, old, new string) change.Set {
	t.Helper()
	root := &spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte("{properties: "+properties+"}"), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.NewModels(map[string]*spec.Schema{"root": root}, schema.WithExpressions(picky{})).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	var objects [2]object
	for i, text := range []string{old, new} {
		if err := yaml.Unmarshal([]byte(text), &objects[i]); err != nil {
			t.Fatal(err)
		}
	}
	set, err := change.NewWalker(tree).Compare(change.All, objects[0], objects[1])
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// asked is an Authorizer that records each call and allows no verb.
type asked struct{ questions [][]string }

func (a *asked) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	a.questions = append(a.questions, verbs)
	return -1, nil
}

// TestExcludedAtTheTop shows that every caller needs the excluded permission of a top-level field,
// also a caller that holds the ordinary verb.
func TestExcludedAtTheTop(t *testing.T) {
	for name, properties := range map[string]string{
		"alone":           `{lock: {x-kubernetes-permission-verb: lock, x-kubernetes-permission-excluded: true}}`,
		"with more below": `{lock: {x-kubernetes-permission-verb: lock, x-kubernetes-permission-excluded: true, properties: {a: {x-kubernetes-permission-verb: part}}}}`,
	} {
		set := changed(t, properties, `{lock: {a: x}}`, `{lock: {a: y}}`)
		for _, marked := range []bool{true, false} {
			for verb, covers := range map[string]bool{"granular:lock": true, "granular:metadata": false, "granular": false} {
				refusal, err := New(&holder{t: t, holds: []string{verb}}, 0).Decide(context.Background(), set, marked)
				if err != nil || (refusal == nil) != covers {
					t.Errorf("%s, marked %t, a holder of %s: %v, %v", name, marked, verb, refusal, err)
				}
			}
		}
	}
}

// TestIncludedBelowExcluded shows that an included permission below an excluded permission suffices
// for its field. An included permission above the excluded permission does not.
func TestIncludedBelowExcluded(t *testing.T) {
	set := changed(t, `{spec: {x-kubernetes-permission-verb: specification, properties: {lock: {x-kubernetes-permission-verb: lock, x-kubernetes-permission-excluded: true, properties: {a: {x-kubernetes-permission-verb: part}}}}}}`,
		`{spec: {lock: {a: x}}}`, `{spec: {lock: {a: y}}}`)
	for verb, covers := range map[string]bool{"granular:lock": true, "granular:part": true, "granular:specification": false} {
		for _, marked := range []bool{true, false} {
			refusal, err := New(&holder{t: t, holds: []string{verb}}, 0).Decide(context.Background(), set, marked)
			if err != nil || (refusal == nil) != covers {
				t.Errorf("marked %t, a holder of %s: %v, %v", marked, verb, refusal, err)
			}
		}
	}
}

// TestNoParameter shows that Decide returns a refusal, not an error, if a parameter expression
// fails for a key and no other permission covers the key.
func TestNoParameter(t *testing.T) {
	const properties = `{tags: {x-kubernetes-permission-parameter-source: tag, additionalProperties: {x-kubernetes-permission-verb: tag, x-kubernetes-permission-parameterized-by: tag, x-kubernetes-permission-parameter-expression: self}}}`
	for key, want := range map[string]string{
		"bad":  "cannot change .tags[bad]: the expression of the permission returns no parameter for this key",
		"good": `cannot change .tags[good]: needs the verb "granular:tag(good)"`,
	} {
		a := &asked{}
		refusal, err := New(a, 0).Decide(context.Background(), changed(t, properties, `{tags: {kept: x}}`, `{tags: {kept: x, `+key+`: x}}`), true)
		if err != nil || refusal == nil {
			t.Fatal(refusal, err)
		}
		if got := refusal.Message(""); got != want {
			t.Errorf("%s", got)
		}
		if (refusal.Reason == NoParameter) != (key == "bad") || (len(a.questions) == 0) != (key == "bad") {
			t.Errorf("%s: %s, asked %q", key, refusal.Reason, a.questions)
		}
	}
}

// TestTheLastQuestion shows that the reason is NotCovered if the budget of verbs just suffices to
// ask all verbs, and Budget if it does not. A retry calls the authorizer for no verb again, and the
// authorizer never gets an empty list.
func TestTheLastQuestion(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	for budget, want := range map[int]Reason{2: Budget, 3: NotCovered, 4: NotCovered} {
		a := &asked{}
		d := New(a, budget)
		for range 2 {
			refusal, err := d.Decide(context.Background(), set, true)
			if err != nil || refusal == nil || refusal.Reason != want {
				t.Errorf("budget %d: %v, %v, wanted %s", budget, refusal, err, want)
			}
		}
		if len(a.questions) != 1 || len(a.questions[0]) != min(budget, 3) {
			t.Errorf("budget %d: asked %q", budget, a.questions)
		}
	}
}

// TestAnswerBeyondTheQuestion shows that Decide returns an error if the authorizer returns an index
// that is out of range.
func TestAnswerBeyondTheQuestion(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	for index, wrong := range map[int]bool{2: false, 3: true, 4: true} {
		refusal, err := New(broken{index: index}, 0).Decide(context.Background(), set, true)
		if (err != nil) != wrong || refusal != nil {
			t.Errorf("%d: %v, %v", index, refusal, err)
		}
	}
}

// TestReasonsHaveNames shows that String returns the name of a Reason, for traces.
func TestReasonsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for r := Reason(0); r <= NoParameter+1; r++ {
		seen[fmt.Sprint(r)] = true
	}
	for _, want := range []string{"NotCovered", "NoPermission", "Budget", "NoParameter", "unknown"} {
		if !seen[want] {
			t.Errorf("none is %s", want)
		}
	}
}

// TestTheObjectItself shows that a message about a change of the root names the object, and no
// field.
func TestTheObjectItself(t *testing.T) {
	refusal := &Refusal{Reason: NoPermission}
	if got, want := refusal.Message(""), "cannot change the object: no permission covers this field"; got != want {
		t.Errorf("got %s", got)
	}
}
