// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"context"
	"fmt"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
)

// heldVerbs is a decide.Authorizer for a caller that holds exactly these verbs.
type heldVerbs []string

// FirstAllowed returns the index of the first of the verbs that is held, or -1. It implements
// decide.Authorizer.
func (h heldVerbs) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	return slices.IndexFunc(verbs, func(v string) bool { return slices.Contains(h, v) }), nil
}

// LeastVerbs returns the smallest set of verbs that a caller needs, in addition to the verb
// granular, to make each set of changes in a request of its own. The verbs are the narrowest ones,
// or the most general ones if wider is true. It returns an error if no verb covers a change.
func LeastVerbs(ctx context.Context, sets []change.Set, wider bool) ([]string, error) {
	return leastVerbs(ctx, sets, wider, true)
}

// leastVerbs does the work of LeastVerbs. If granular is false, the caller holds the ordinary verb,
// and only excluded fields need verbs.
func leastVerbs(ctx context.Context, sets []change.Set, wider, granular bool) ([]string, error) {
	var verbs heldVerbs
	for _, set := range sets {
		for {
			refusal, err := decide.New(verbs, 0).Decide(ctx, set, granular)
			if err != nil {
				return nil, err
			}
			if refusal == nil {
				break
			}
			next := refusal.Specific
			if wider || refusal.Reason != decide.NotCovered {
				next = refusal.General
			}
			if next == "" || slices.Contains(verbs, next) {
				return nil, fmt.Errorf("no role can grant the change: it %s", refusal.Message(""))
			}
			verbs = append(verbs, next)
		}
	}
	for i := len(verbs) - 1; i >= 0; i-- {
		without := slices.Delete(slices.Clone(verbs), i, i+1)
		needed := false
		for _, set := range sets {
			refusal, err := decide.New(without, 0).Decide(ctx, set, granular)
			if err != nil {
				return nil, err
			}
			needed = needed || refusal != nil
		}
		if !needed {
			verbs = without
		}
	}
	slices.Sort(verbs)
	return verbs, nil
}
