// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"context"
	"fmt"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
)

// Outcome is the result of a scenario: the expected one, from the fields of the same names in
// Scenario, or the one that Run found.
type Outcome struct {
	Decision     Decision
	Asked        []string
	Field, Needs string
}

// Want returns the expected outcome of a scenario.
func (s *Scenario) Want() Outcome {
	return Outcome{Decision: s.Decision, Asked: s.Asked, Field: s.Field, Needs: s.Needs}
}

// Run runs a scenario with the library, without a server, and returns the outcome. The function
// object converts an object of the scenario to a form that the Walker w can compare. On a create
// there is no old object, so object must also accept a nil Object.
func Run(s *Scenario, w *change.Walker, object func(Object) (any, error)) (Outcome, error) {
	final := s.Final
	if final == nil {
		final = s.New
	}
	var forms [3]any
	for i, o := range []Object{s.Old, s.New, final} {
		form, err := object(o)
		if err != nil {
			return Outcome{}, fmt.Errorf("%s: %w", s.Name, err)
		}
		forms[i] = form
	}
	mode := change.All
	if s.Unmarked {
		mode = change.ExcludedOnly
	}
	observed, err := w.Compare(mode, forms[0], forms[1])
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	stored, err := w.Compare(mode, forms[0], forms[2])
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	d := decide.New(holds(s.Grants), 0)
	var refusal *decide.Refusal
	if !d.CoveredAsObserved(context.Background(), observed, !s.Unmarked) {
		refusal, err = d.Decide(context.Background(), change.Answerable(observed, stored), !s.Unmarked)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	got := Outcome{Decision: Allow, Asked: d.Asked()}
	if refusal != nil {
		got.Decision = Forbidden
		got.Field = w.Locate(refusal.Change, forms[0], forms[2])
		got.Needs = refusal.Needs()
	}
	return got, nil
}

// Plain returns an object in the form of a custom resource.
func Plain(o Object) (any, error) {
	if o == nil {
		return nil, nil
	}
	return map[string]any(o), nil
}

// holds is an authorizer that allows the verbs in the slice.
type holds []string

func (h holds) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	return slices.IndexFunc(verbs, func(v string) bool { return slices.Contains(h, v) }), nil
}
