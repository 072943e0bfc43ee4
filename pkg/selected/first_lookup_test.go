// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/pkg/delegation"
)

// TestRefusalStays checks that a request whose first lookup of its delegation is refused never finds the delegation, and that
// another request finds it.
func TestRefusalStays(t *testing.T) {
	x := delegation.NewIndex()
	selecting := func() *User {
		u, err := UserOf(&user.DefaultInfo{Name: "u", Extra: extra(`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	early := selecting()
	_, first := early.Chain(t.Context(), x)
	if first == nil {
		t.Fatal("there is no delegation, and it is found")
	}
	x.Observe(byRobot("d", "1"), false)
	if _, again := early.Chain(t.Context(), x); again != first {
		t.Errorf("then %v", again)
	}
	late := selecting()
	for range 2 {
		if chain, refusal := late.Chain(t.Context(), x); refusal != nil || chain == nil {
			t.Errorf("a request after it: %v", refusal)
		}
	}
}
