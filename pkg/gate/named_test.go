// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// TestNamedChanges checks when a field that is found by name counts as changed: the old data may have it alone, and data that
// nobody can read may have it.
func TestNamedChanges(t *testing.T) {
	target := endpoint(t, kindNamed("apps/v1/ControllerRevision"), "controllerrevisions")
	f := inTemplates("controllerrevisions.apps", nil, entriesOf(t, "pods", true, ".spec.hostNetwork acme.io/x excluded"))
	n := kindWith(target, entrySet{entries: f.entries["controllerrevisions.apps"]}).named
	revision := func(data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Data: apiruntime.RawExtension{Raw: []byte(data)}}
	}
	const with, without, unreadable = `{"hostNetwork": true}`, `{"a": 1}`, `{`
	for name, tc := range map[string]struct {
		old, now any
		want     int
	}{
		"created with it":     {nil, revision(with), 1},
		"created without":     {nil, revision(without), 0},
		"removed":             {revision(with), revision(without), 1},
		"added":               {revision(without), revision(with), 1},
		"the same":            {revision(with), revision(with), 0},
		"beside it":           {revision(with), revision(`{"hostNetwork": true, "a": 1}`), 1},
		"unreadable":          {revision(without), revision(unreadable), 1},
		"created, unreadable": {nil, revision(unreadable), 1},
		"was unreadable":      {revision(unreadable), revision(without), 0},
		"stays unreadable":    {revision(unreadable), revision(unreadable), 1},
		"of no known Go type": {nil, "data", 1},
		"neither has it":      {revision(without), revision(`{"b": 1}`), 0},
	} {
		if got := n.changes(tc.old, tc.now); len(got) != tc.want {
			t.Errorf("%s: %v, want %d", name, got, tc.want)
		}
	}
	if got := (*named)(nil).changes(revision(without), revision(with)); got != nil {
		t.Errorf("where nothing is found by name: %v", got)
	}
	// Where the tree with these fields can't be compiled, nothing is written.
	long := entriesOf(t, "pods", true, ".spec.hostNetwork acme.io/"+strings.Repeat("x", 64)+" excluded")
	f = inTemplates("controllerrevisions.apps", nil, long)
	if k := kindWith(target, entrySet{entries: f.entries["controllerrevisions.apps"]}); k.err == nil || k.walker != nil {
		t.Errorf("without a tree: %v, walker %v", k.err, k.walker)
	}
}
