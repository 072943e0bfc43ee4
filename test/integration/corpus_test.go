// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// TestCorpus holds the running server to the scenarios that the library is held
// to: in each way a change can be sent, the same verdict, the same verbs asked in
// the same order, the same message; and what is refused is not stored.
func TestCorpus(t *testing.T) {
	scenarios, err := corpus.Load("../corpus")
	if err != nil {
		t.Fatal(err)
	}
	s := onStage(t)
	stamps := harness.NewMutatingWebhook(t, s, "stamped-")
	harness.PrepareCorpus(t, s)
	sent := 0
	for i := range scenarios {
		scenario := &scenarios[i]
		t.Run(filepath.Base(scenario.File)+"/"+scenario.Name, func(t *testing.T) {
			if scenario.LibraryOnly != "" {
				t.Skip(scenario.LibraryOnly)
			}
			ways := waysOf(scenario)
			if len(ways) == 0 {
				t.Fatal("there is no way to send it")
			}
			for _, way := range ways {
				t.Run(way, func(t *testing.T) {
					sent++
					r := &rehearsal{Server: s, stamps: stamps, s: scenario, way: way, id: fmt.Sprintf("%d-%s", i, way)}
					r.run(t)
				})
			}
		})
	}
	t.Logf("%d scenarios, %d requests", len(scenarios), sent)
}

// waysOf are the ways in which a scenario is sent. Server-side apply can't take
// away what others own, and strategic patches are for built-in kinds.
func waysOf(s *corpus.Scenario) []string {
	switch {
	case s.Ways != nil:
		return s.Ways
	case s.Old == nil:
		return []string{"post"}
	}
	ways := []string{"put", "merge", "json"}
	if scheme.Scheme.Recognizes(s.GVK()) {
		ways = append(ways, "strategic")
	}
	if keeps(map[string]any(s.Old), map[string]any(s.New)) {
		ways = append(ways, "apply")
	}
	return ways
}

// keeps says whether nothing in before is away in after, or elsewhere in a list.
func keeps(before, after any) bool {
	switch before := before.(type) {
	case map[string]any:
		after, ok := after.(map[string]any)
		for name, value := range before {
			if is, kept := after[name]; !ok || !kept || !keeps(value, is) {
				return false
			}
		}
	case []any:
		after, ok := after.([]any)
		return ok && reflect.DeepEqual(before, after[:min(len(before), len(after))])
	}
	return true
}
