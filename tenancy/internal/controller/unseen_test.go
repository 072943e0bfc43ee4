// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// TestUnseen holds that a delegation is known from when it is made until the cache has it or it
// is deleted, to its tenant alone.
func TestUnseen(t *testing.T) {
	one := func(name string) authority.AuthorityDelegation {
		return authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	u := unseen{}
	if left := u.but("team", nil); len(left) != 0 {
		t.Errorf("of nothing: %v", left)
	}
	for _, name := range []string{"a", "b", "c"} {
		d := one(name)
		u.add("team", &d)
	}
	again := one("d")
	again.Name = "a" // made again, and the cache has the one before
	u.add("team", &again)
	if left := u.but("other", nil); len(left) != 0 {
		t.Errorf("of another: %v", left)
	}
	if left := u.but("team", []authority.AuthorityDelegation{one("a")}); len(left) != 3 || left[2].UID != "d" {
		t.Errorf("the cache has a: %v", left)
	}
	u.forget("team", "b")
	if left := u.but("team", nil); len(left) != 2 || left[0].Name != "c" {
		t.Errorf("b was deleted: %v", left)
	}
	u.forget("team", "a")
	if left := u.but("team", []authority.AuthorityDelegation{one("c")}); len(left) != 0 || len(u.made) != 0 {
		t.Errorf("nothing is left: %v", u.made)
	}
}
