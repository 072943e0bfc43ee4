// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/change"
)

// TestCoveredAsObserved checks in which cases the observed changes are enough for a decision, and
// that the authorizer is asked only in these cases.
func TestCoveredAsObserved(t *testing.T) {
	labeled := labels(1)
	labeled["metadata"].(object)["labels"].(object)["domain0000.com/x"] = "2"
	one := changesOf(t, "apps", "v1", "Deployment", change.All, labels(1), labeled)
	first := changesOf(t, "apps", "v1", "Deployment", change.All, object{"metadata": object{"name": "a"}}, labels(1))
	two := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(2))
	whole := change.Set{one[0]}
	whole[0].Ambiguous = true
	all := []string{"granular:metadata", "granular:labels", "granular:label(domain0000.com)"}
	tests := map[string]struct {
		observed change.Set
		ordinary bool
		holds    []string
		covered  bool
		asked    []string
	}{
		"nothing":                        {covered: true},
		"one change, covered":            {observed: one, holds: all[2:], covered: true, asked: all},
		"one change, not covered":        {observed: one, asked: append(all, "granular:label(domain0000.com/x)")},
		"one change, not excluded":       {observed: one, ordinary: true, covered: true},
		"the first label, covered":       {observed: first, holds: all[:1]},
		"two changes, covered":           {observed: two, holds: all[:1]},
		"one change that stands for all": {observed: whole, holds: all[:1]},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := New(&holder{t: t, holds: tc.holds}, 0)
			if covered := d.CoveredAsObserved(context.Background(), tc.observed, !tc.ordinary); covered != tc.covered {
				t.Errorf("got %t, wanted %t", covered, tc.covered)
			}
			if diff := cmp.Diff(tc.asked, d.Asked()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if New(failing{}, 0).CoveredAsObserved(context.Background(), one, true) {
		t.Error("covered by an authorizer that fails")
	}
}

type failing struct{}

func (failing) FirstAllowed(context.Context, []string) (int, error) {
	return 0, errors.New("the authorizer is gone")
}
