// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"slices"
	"testing"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
)

// TestManyLeftoversHideNoOthers checks that the status has entries of all makers, even if one of them
// made many objects.
func TestManyLeftoversHideNoOthers(t *testing.T) {
	var found []v1alpha1.Leftover
	for i := range 100 {
		found = append(found, v1alpha1.Leftover{Kind: "RoleBinding", Name: fmt.Sprintf("a%03d", i), Maker: "many"})
	}
	few := []v1alpha1.Leftover{{Kind: "RoleBinding", Name: "z", Maker: "few"}, {Kind: "Secret", Name: "z", Maker: "few"}, {Kind: "Secret", Name: "y", Maker: "other"}}
	got := controller.Fairly(append(slices.Clone(found), few...))
	if len(got) != 64 {
		t.Errorf("%d entries", len(got))
	}
	for _, l := range append(few, found[:61]...) {
		if !slices.Contains(got, l) {
			t.Errorf("%v is hidden", l)
		}
	}
	if got := controller.Fairly(few); !slices.Equal(got, few) {
		t.Errorf("few: %v", got)
	}
}
