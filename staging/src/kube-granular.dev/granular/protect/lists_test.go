// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/schema"
)

// TestReservedIn checks which keys of a domain the server itself sets, for labels and for annotations. It asks often, because
// two keys that are not sorted come in the right order every other time.
func TestReservedIn(t *testing.T) {
	for _, tc := range []struct {
		kind   schema.Attribute
		domain string
		want   []string
	}{
		{schema.Label, "batch.kubernetes.io/", []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index",
			"batch.kubernetes.io/job-name"}},
		{schema.Annotation, "endpoints.kubernetes.io/", []string{"endpoints.kubernetes.io/last-change-trigger-time",
			"endpoints.kubernetes.io/over-capacity"}},
		{schema.Label, "deployment.kubernetes.io/", nil},
		{schema.Label, "example.com/", nil},
	} {
		for range 64 {
			if diff := cmp.Diff(tc.want, ReservedIn(tc.kind, tc.domain)); diff != "" {
				t.Errorf("%v in %s: (-want +got)\n%s", tc.kind, tc.domain, diff)
				break
			}
		}
	}
}

// TestOthers checks that the resource that stands for others names them, and no other resource does.
func TestOthers(t *testing.T) {
	core, group := Resource{Resource: "events"}, Resource{Group: "events.k8s.io", Resource: "events"}
	for resource, want := range map[Resource][]Resource{core: {group}, group: nil, {Resource: "pods"}: nil} {
		if diff := cmp.Diff(want, resource.Others()); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", resource, diff)
		}
	}
}

// TestOrigins checks that the built-in table names each resource from which a controller copies, and that a table without
// sources names none.
func TestOrigins(t *testing.T) {
	origins := Builtin().Origins()
	for resource, want := range map[Resource]bool{
		{Resource: "nodes"}: true, {Group: "apps", Resource: "deployments"}: true, {Resource: "secrets"}: false, {}: false,
	} {
		if got := slices.Contains(origins, resource); got != want {
			t.Errorf("%v: %v, want %v", resource, got, want)
		}
	}
	if got := (&Table{}).Origins(); len(got) != 0 {
		t.Errorf("an empty table names %v", got)
	}
}
