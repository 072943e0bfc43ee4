// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"testing"
)

// TestListed checks that Listed returns as many verbs as fit into MaxLength, and the number of
// the omitted ones.
func TestListed(t *testing.T) {
	if got := Listed([]string{"granular:a", "granular:b"}); got != "granular:a granular:b" {
		t.Errorf("got %s", got)
	}
	if got := Listed(nil); got != "" {
		t.Errorf("got %s", got)
	}
	for length := 1; length <= 600; length += 13 {
		var verbs []string
		for i := range 64 {
			verbs = append(verbs, fmt.Sprintf("granular:%02d%s", i, strings.Repeat("x", length)))
		}
		got := Listed(verbs)
		if len(got) > MaxLength {
			t.Fatalf("%d bytes", len(got))
		}
		parts := strings.Split(got, " ")
		left := 0
		if last := parts[len(parts)-1]; strings.HasPrefix(last, "...+") {
			if _, err := fmt.Sscanf(last, "...+%d", &left); err != nil {
				t.Fatal(err)
			}
			parts = parts[:len(parts)-1]
		}
		if len(parts)+left != len(verbs) || left > 0 && len(got)+2*len(verbs[0]) < MaxLength {
			t.Errorf("of %d verbs %d are listed in %d bytes, %d are left out", len(verbs), len(parts), len(got), left)
		}
		for i, part := range parts {
			if part != verbs[i] {
				t.Errorf("verb %d is %s", i, part)
			}
		}
	}
}

// TestReserved checks that all keys of the project are reserved, and no others.
func TestReserved(t *testing.T) {
	for key, want := range map[string]bool{
		MarkedAnnotation: true, PermissionsAnnotation: true, SelectedAnnotation: true, ReasonAnnotation: true, ChainAnnotation: true,
		RefusedAnnotation: true, DelegationAnnotation: true, NotDelegatedAnnotation: true, OpenedAnnotation: true, SkippedAnnotation: true, "kube-granular.dev/x": true,
		"example.com/chain": false, "notkube-granular.dev/x": false, "kube-granular.dev.example.com/x": false, "authorization.k8s.io/decision": false, "": false,
	} {
		if reserved(key) != want {
			t.Errorf("%s: reserved is not %t", key, want)
		}
	}
}

// TestWithoutReserved checks that reserved annotations are left out, others stay, and the map of the
// caller is not changed.
func TestWithoutReserved(t *testing.T) {
	given := map[string]string{"authority.kube-granular.dev/selected": "a", "policy.example.com/b": "b"}
	if got := WithoutReserved(given); len(got) != 1 || got["policy.example.com/b"] != "b" || len(given) != 2 {
		t.Errorf("got %v of %v", got, given)
	}
	if got := WithoutReserved(map[string]string{"policy.example.com/b": "b"}); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if got := WithoutReserved(nil); got != nil {
		t.Errorf("got %v", got)
	}
}
