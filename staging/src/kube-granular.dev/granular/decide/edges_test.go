// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// picky is a language whose expressions return no parameter for the key bad.
type picky struct{}

func (picky) Compile(string) (schema.Expression, error) { return picky{}, nil }

func (picky) Parameter(_ context.Context, key string) (string, int64, error) {
	if key == "bad" {
		return "", 1, errors.New("no parameter")
	}
	return key, 1, nil
}

// changed compares two objects of a schema with the given properties, as YAML.
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

// asked records the verbs of each call, and allows nothing.
type asked struct{ questions [][]string }

func (a *asked) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	a.questions = append(a.questions, verbs)
	return -1, nil
}

// TestExcludedAtTheTop checks that every caller needs an excluded permission, also if no more
// general permission is above it, and if permissions are below it.
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

// TestIncludedBelowExcluded checks that an included permission below an excluded one covers a
// change, and that an included permission above does not.
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

// TestNoParameter checks a key for which no permission has a parameter: Decide returns a refusal,
// not an error.
func TestNoParameter(t *testing.T) {
	const properties = `{tags: {x-kubernetes-permission-parameter-source: tag, additionalProperties: {x-kubernetes-permission-verb: tag, x-kubernetes-permission-parameterized-by: tag, x-kubernetes-permission-parameter-expression: self}}}`
	for key, want := range map[string]string{
		"bad":  "cannot change .tags[bad]: the parameter expression of the permission returns no parameter for this key",
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

// TestTheLastQuestion checks that a budget for exactly the needed verbs yields NotCovered and not
// Budget. No verb is asked for twice, and the authorizer is never called without a verb.
func TestTheLastQuestion(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	for budget, want := range map[int]Reason{2: Budget, 3: Budget, 4: NotCovered, 5: NotCovered} {
		a := &asked{}
		d := New(a, budget)
		for range 2 {
			refusal, err := d.Decide(context.Background(), set, true)
			if err != nil || refusal == nil || refusal.Reason != want {
				t.Errorf("budget %d: %v, %v, wanted %s", budget, refusal, err, want)
			}
		}
		if verbs := slices.Concat(a.questions...); len(verbs) != min(budget, 4) || slices.ContainsFunc(a.questions, isEmpty) {
			t.Errorf("budget %d: asked %q", budget, a.questions)
		}
	}
}

func isEmpty(verbs []string) bool { return len(verbs) == 0 }

// TestAnswerBeyondTheQuestion checks that an index beyond the asked verbs is an error.
func TestAnswerBeyondTheQuestion(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	for index, wrong := range map[int]bool{2: false, 3: true, 4: true} {
		refusal, err := New(broken{index: index}, 0).Decide(context.Background(), set, true)
		if (err != nil) != wrong || refusal != nil {
			t.Errorf("%d: %v, %v", index, refusal, err)
		}
	}
}

// TestReasonsHaveNames checks that each Reason has a name, for traces.
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

// TestTheObjectItself checks the message for a change that is charged to the root.
func TestTheObjectItself(t *testing.T) {
	refusal := &Refusal{Reason: NoPermission}
	if got, want := refusal.Message(""), "cannot change the object: no permission covers this field"; got != want {
		t.Errorf("got %s", got)
	}
}
