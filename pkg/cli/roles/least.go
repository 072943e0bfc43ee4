// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
)

// heldVerbs is a decide.Authorizer for a caller that holds exactly these verbs. The verb * stands for all
// verbs.
type heldVerbs []string

// FirstAllowed returns the index of the first of the verbs that is held, or -1. It implements
// decide.Authorizer.
func (h heldVerbs) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	if slices.Contains(h, rbacv1.VerbAll) {
		return 0, nil
	}
	return slices.IndexFunc(verbs, func(v string) bool { return slices.Contains(h, v) }), nil
}

// Lack is what a caller lacks for a set of changes.
type Lack struct {
	// Verbs are the verbs that the caller lacks.
	Verbs []string
	// Refusals are what the server would answer, one after the other, while the caller gets these verbs.
	Refusals []*decide.Refusal
	// Never is the refusal that no verb of fields can prevent, or nil.
	Never *decide.Refusal
}

// Lacking returns what a caller with the verbs held lacks to make a set of changes in one request. The
// width selects among the verbs that cover a change. If granular is false, the caller holds the ordinary
// verb, and only excluded fields need verbs.
func Lacking(ctx context.Context, set change.Set, held []string, width Width, granular bool) (*Lack, error) {
	verbs, out := heldVerbs(slices.Clone(held)), &Lack{}
	for {
		refusal, err := decide.New(verbs, 0).Decide(ctx, set, granular)
		if refusal == nil || err != nil {
			return out, err
		}
		out.Refusals = append(out.Refusals, refusal)
		next := refusal.Specific
		switch {
		case width == Wide || refusal.Reason != decide.NotCovered:
			next = refusal.General
		case width == Exact && refusal.Exact != "":
			next = refusal.Exact
		}
		if next == "" || slices.Contains(verbs, next) {
			out.Never = refusal
			return out, nil
		}
		verbs, out.Verbs = append(verbs, next), append(out.Verbs, next)
	}
}

// LeastVerbs returns the smallest set of verbs that a caller needs, in addition to the verb
// granular, to make each set of changes in a request of its own. It returns an error if no verb covers
// a change.
func LeastVerbs(ctx context.Context, sets []change.Set, width Width) ([]string, error) {
	return leastVerbs(ctx, sets, width, true)
}

// leastVerbs does the work of LeastVerbs. If granular is false, the caller holds the ordinary verb,
// and only excluded fields need verbs.
func leastVerbs(ctx context.Context, sets []change.Set, width Width, granular bool) ([]string, error) {
	var verbs []string
	for _, set := range sets {
		lack, err := Lacking(ctx, set, verbs, width, granular)
		if err != nil {
			return nil, err
		}
		if lack.Never != nil {
			return nil, fmt.Errorf("no role can grant the change: it %s", lack.Never.Message(""))
		}
		verbs = append(verbs, lack.Verbs...)
	}
	for i := len(verbs) - 1; i >= 0; i-- {
		without := slices.Delete(slices.Clone(verbs), i, i+1)
		needed := false
		for _, set := range sets {
			refusal, err := decide.New(heldVerbs(without), 0).Decide(ctx, set, granular)
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
