// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest has a test that each implementation of the interface store.Table must pass.
package storetest

import (
	"fmt"
	"testing"
	"time"

	"kube-granular.dev/tenancy/internal/billing/store"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// Exercise tests whether the table behaves as store.Table says, and closes the table at the end.
func Exercise(t *testing.T, table store.Table) {
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if err := table.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := store.Period{TenantUID: "u1", Sequence: 1, Tenant: "team", Account: "a'b\"; --", Labels: map[string]string{"k": "v"}, Start: noon}
	put := func(p store.Period) {
		t.Helper()
		if err := table.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	put(first)
	put(first)
	ended := first
	ended.End = noon.Add(time.Hour)
	put(ended)
	put(first) // a late write of the beginning does not reopen the period
	later := ended
	later.End = noon.Add(5 * time.Hour)
	put(later) // a second end does not replace the first one
	put(store.Period{TenantUID: "u1", Sequence: 2, Tenant: "team", Account: "c", Start: noon.Add(time.Hour)})
	put(store.Period{TenantUID: "u2", Sequence: 1, Tenant: "team", Account: "c", Start: noon.Add(48 * time.Hour)})
	got, err := table.Between(t.Context(), noon.Add(-time.Hour), noon.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || fmt.Sprint(got[0]) != fmt.Sprint(ended) || got[1].Sequence != 2 || !got[1].End.IsZero() {
		t.Errorf("%v", got)
	}
	if got, err = table.Between(t.Context(), noon.Add(time.Hour), noon.Add(2*time.Hour)); err != nil || len(got) != 1 {
		t.Errorf("a period that ended at the beginning: %v, %v", got, err)
	}
}
