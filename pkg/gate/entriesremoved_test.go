// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestRefusalTellsRemoval checks that the refusal of a closed field says when the request removes the field,
// which a client does that does not know the field, and only then. A caller who may not get the object
// does not learn it of an element that it has not sent.
func TestRefusalTellsRemoval(t *testing.T) {
	const removes = "; the request removes it (excluded by FieldPermission things.example.com)"
	without := func(part string) string { return strings.Replace(before, part, "", 1) }
	for name, tc := range map[string]struct {
		entry        string
		marked       bool
		allow        []string
		old, changed string
		removed      bool
	}{
		"changed":             {entry: ".spec.destination", old: before, changed: moved},
		"removed":             {entry: ".spec.destination", old: before, changed: removed, removed: true},
		"added":               {entry: ".spec.destination", old: removed, changed: before},
		"created":             {entry: ".spec.destination", changed: before},
		"a field inside":      {entry: ".spec.destination", old: before, changed: without(`,"zone":"y"`), removed: true},
		"with all around it":  {entry: ".spec.destination.server", old: before, changed: `{}`, removed: true},
		"of an element":       {entry: ".spec.ports[*].number", old: before, changed: without(`,"number":1`), removed: true},
		"with its element":    {entry: ".spec.ports[*].number", old: before, changed: without(`{"name":"p","number":1}`), removed: true},
		"an unknown field":    {entry: ".spec.helm.values", old: before, changed: without(`"values":{"a":1},`), removed: true},
		"to another type":     {entry: ".spec.helm.values", old: before, changed: helmScalar},
		"a finalizer":         {entry: ".metadata.finalizers", old: withEnds, changed: before, removed: true},
		"granular, may get":   {entry: ".spec.ports[*].number", marked: true, allow: []string{"granular:specification", "get"}, old: before, changed: without(`{"name":"p","number":1}`), removed: true},
		"granular, may not":   {entry: ".spec.ports[*].number", marked: true, allow: []string{"granular:specification"}, old: before, changed: without(`{"name":"p","number":1}`)},
		"granular, the field": {entry: ".spec.destination", marked: true, old: before, changed: removed, removed: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("update")
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			f := withEntries(entriesOf(t, thingEntries, true, tc.entry+" acme.io/d excluded"))
			err := attempt(t, New(&grants{allow: tc.allow}, WithFieldPermissions(f)), ctx, customThing(t, silent), tc.old, tc.changed, tc.changed)
			wantError(t, err, "(excluded by FieldPermission things.example.com)")
			if err != nil && strings.Contains(err.Error(), removes) != tc.removed {
				t.Error(err)
			}
		})
	}
	// The author's exclusions are no entries, and their refusals stay as they are.
	err := attempt(t, New(&grants{}), requestContext("update"), customThing(t, silentExcluding(t)), before, removed, removed)
	wantError(t, err, `needs the verb "granular:zone"`)
	if err != nil && strings.Contains(err.Error(), "removes it") {
		t.Error(err)
	}
}
