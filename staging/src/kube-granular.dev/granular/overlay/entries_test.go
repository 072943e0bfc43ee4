// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"testing"

	"kube-granular.dev/granular/overlay"
)

// TestAround checks which exclusion a field is in: the innermost one at it or around it.
func TestAround(t *testing.T) {
	e := entries(t, ".spec acme.io/spec", ".spec.sources[*] acme.io/inner excluded", ".spec.sources acme.io/outer excluded",
		".spec.destination.server acme.io/server excluded", ".data acme.io/first excluded", ".data acme.io/second excluded")
	for text, want := range map[string]string{
		".spec": "", ".spec.sources": "acme.io/outer", ".spec.sources[*]": "acme.io/inner", ".spec.sources[*].path": "acme.io/inner",
		".spec.sources.x": "acme.io/outer", ".spec.destination": "", ".spec.destination.server.a": "acme.io/server", ".status": "",
		".data.a": "acme.io/first",
	} {
		path, err := overlay.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if f := e.Around(path.Steps(), false); f != nil {
			got = f.Permission
		}
		if got != want {
			t.Errorf("%s is in %q, want %q", text, got, want)
		}
	}
}

// TestExcludes checks whether entries have an exclusion.
func TestExcludes(t *testing.T) {
	var none *overlay.Entries
	if none.Excludes() || entries(t, ".spec acme.io/a").Excludes() {
		t.Error("an exclusion where there is none")
	}
	if !entries(t, ".spec acme.io/a", ".status acme.io/b excluded").Excludes() {
		t.Error("no exclusion")
	}
}

// TestTakesExclusions checks which resources have fields that can be excluded.
func TestTakesExclusions(t *testing.T) {
	for _, tc := range []struct {
		group, resource string
		want            bool
	}{
		{"example.io", "applications", true}, {"", "pods", true}, {"", "events", false}, {"rbac.authorization.k8s.io", "roles", false},
		{"coordination.k8s.io", "leases", false}, {"coordination.k8s.io", "others", true},
	} {
		if got := overlay.TakesExclusions(tc.group, tc.resource); got != tc.want {
			t.Errorf("%s %s: %t", tc.group, tc.resource, got)
		}
	}
}
