// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"testing"

	"kube-granular.dev/granular/overlay"
)

// TestEntriesCostNothingElsewhere checks that a write of a resource without entries allocates as much
// as without FieldPermissions, however many other resources have entries.
func TestEntriesCostNothingElsewhere(t *testing.T) {
	f := &fieldPermissions{entries: map[string]*overlay.Entries{}}
	for i := range 1000 {
		source := fmt.Sprintf("kind%d.example.com", i)
		f.entries[source] = entriesOf(t, source, true, ".spec acme.io/all excluded")
	}
	of, ctx := customThing(t, silent), requestContext("update")
	for name, g := range map[string]*Gate{"none": New(&grants{}), "many others": New(&grants{}, WithFieldPermissions(constantEntries{f}))} {
		allocations := testing.AllocsPerRun(1000, func() {
			if g.Begin(ctx, of) != nil {
				t.Fatal("something is verified")
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

// constantEntries looks up entries as the server does: without building a name.
type constantEntries struct{ *fieldPermissions }

func (c constantEntries) Entries(group, resource string) (*overlay.Entries, bool) {
	if group == "example.com" && resource == "things" {
		return nil, true
	}
	return c.fieldPermissions.Entries(group, resource)
}
