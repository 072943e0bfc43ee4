// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/names"
)

// TestUnseen checks that a created delegation is returned for its tenant until the informer cache
// has it or it is deleted, and that it is never returned for another tenant.
func TestUnseen(t *testing.T) {
	one := func(name string) authority.AuthorityDelegation {
		return authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	u := controller.Unseen{}
	if left := u.But("team", nil); len(left) != 0 {
		t.Errorf("before anything was added: %v", left)
	}
	for _, name := range []string{"a", "b", "c"} {
		d := one(name)
		u.Add("team", &d)
	}
	again := one("d")
	again.Name = "a" // created again; the cache still has the earlier delegation with this name
	u.Add("team", &again)
	if left := u.But("other", nil); len(left) != 0 {
		t.Errorf("of another tenant: %v", left)
	}
	if left := u.But("team", []authority.AuthorityDelegation{one("a")}); len(left) != 3 || left[2].UID != "d" {
		t.Errorf("the cache has a: %v", left)
	}
	u.Forget("team", "b")
	if left := u.But("team", nil); len(left) != 2 || left[0].Name != "c" {
		t.Errorf("b was deleted: %v", left)
	}
	u.Forget("team", "a")
	if left := u.But("team", []authority.AuthorityDelegation{one("c")}); len(left) != 0 || !u.Empty() {
		t.Errorf("not empty at the end: %v", left)
	}
}

// TestRevokeUnseen checks that Revoke deletes a delegation that the cache does not have yet, and
// keeps the delegation of a subject that stays.
func TestRevokeUnseen(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := authority.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	index := func(object client.Object) []string {
		return []string{object.(*authority.AuthorityDelegation).Status.Delegator.Username}
	}
	behind := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&authority.AuthorityDelegation{}, controller.DelegatorIndex, index).Build()
	d := controller.NewDelegations(behind)
	for _, name := range []string{"goes", "stays"} {
		made := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		made.Spec.Delegates = []authority.Delegate{{Kind: authority.DelegateUser, Name: name}}
		made.Status.Delegator.Username = names.SudoUser("team")
		d.Made("team", made)
	}
	stays := []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "stays"}}
	for _, want := range []int{1, 0} { // the second time, the deleted delegation is forgotten
		gone, err := d.Revoke(t.Context(), "team", stays)
		if err != nil || len(gone) != want || want == 1 && gone[0].Name != "goes" {
			t.Errorf("deleted delegations: %v, %v", gone, err)
		}
	}
}
