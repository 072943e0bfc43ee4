// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"testing"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// TestEventsOfTwoGroups checks that a filter with the events of one group selects, or excludes, the
// events of both groups, because their objects are the same.
func TestEventsOfTwoGroups(t *testing.T) {
	label := change.Attributes{{Kind: schema.Label, Key: "env", New: change.Value{Text: "prod", Present: true}, Path: change.Path{{Field: "metadata"}, {Field: "labels"}}}}
	for _, served := range []string{"events", "events.events.k8s.io", "configmaps"} {
		for _, named := range []string{"events", "events.events.k8s.io"} {
			events := served != "configmaps"
			for name, tc := range map[string]struct {
				entry    Entry
				protects bool
			}{
				"resources":        {env("p", forResources(named)), events},
				"excludeResources": {env("p", notResources(named)), !events},
			} {
				decider := NewDecider(New(tc.entry), "default", targetOf(t, resourceOf(served)), callerWith(), 0)
				refusal, _, err := decider.Decide(t.Context(), label)
				if err != nil || (refusal != nil) != tc.protects {
					t.Errorf("%s of %s, written as %s: %s, %v", name, named, served, shown(refusal), err)
				}
			}
			if e := env("p", forResources(named), notResources(served)); events && len(e.Problems()) == 0 {
				t.Errorf("%s without %s is accepted", named, served)
			}
		}
	}
}
