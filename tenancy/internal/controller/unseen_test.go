// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
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

// TestRevokeUnseen holds that a delegation goes which the cache does not have yet, and that of
// somebody who stays does not.
func TestRevokeUnseen(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := authority.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	index := func(object client.Object) []string {
		return []string{object.(*authority.AuthorityDelegation).Status.Delegator.Username}
	}
	behind := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&authority.AuthorityDelegation{}, delegatorIndex, index).Build()
	d := &delegations{writer: writer{Client: behind, live: behind}}
	for _, name := range []string{"goes", "stays"} {
		made := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		made.Spec.Delegates = []authority.Delegate{{Kind: authority.DelegateUser, Name: name}}
		made.Status.Delegator.Username = names.SudoUser("team")
		d.unseen.add("team", made)
	}
	stays := []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "stays"}}
	for _, want := range []int{1, 0} { // once gone, it is not known any more
		gone, err := d.revoke(t.Context(), "team", stays, false)
		if err != nil || len(gone) != want || want == 1 && gone[0].Name != "goes" {
			t.Errorf("gone: %v, %v", gone, err)
		}
	}
}
