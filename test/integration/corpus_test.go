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

// TestCorpus sends the scenarios of test/corpus, which also test the library, to the running
// server in every way that a change can be sent. Each must give the same verdict, the same
// authorizer queries in the same order, and the same message. A refused request must store
// nothing.
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

// waysOf returns the ways in which a scenario is sent. Server-side apply is left out if the
// change removes fields, because it can't remove fields of other managers. Strategic merge
// patches exist only for built-in kinds.
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

// keeps reports whether after still has all fields of before, and all list elements at the same
// index.
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
