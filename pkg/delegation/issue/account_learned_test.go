// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/pkg/selected"
)

// TestBindingIsLearned checks that the server reads an account back after each write that changed its binding, and only then,
// so that the binding is in force on this server when the request is answered.
func TestBindingIsLearned(t *testing.T) {
	caller, unread := &user.DefaultInfo{Name: "alice"}, errors.New("no answer")
	gone := apierrors.NewNotFound(accountResource, "robot")
	for name, c := range map[string]struct {
		dryRun    bool
		old, sent *corev1.ServiceAccount
		// answers are the results of the reads, one each, and then the account is found.
		answers []error
		reads   int
		// bound is true if the account that was bound before is bound in the end.
		bound bool
	}{
		"bound":                {false, bound(), bound(bindingTo("d")), nil, 1, true},
		"released":             {false, bound(bindingTo("d")), bound(""), nil, 1, true},
		"a dry run":            {true, bound(), bound(bindingTo("d")), nil, 0, false},
		"the binding stays":    {false, bound(bindingTo("d")), bound(bindingTo("d")), nil, 0, false},
		"it is left out":       {false, bound(bindingTo("d")), bound(), nil, 0, false},
		"refused":              {false, bound(), bound(bindingTo("gone")), nil, 0, false},
		"read the second time": {false, bound(), bound(bindingTo("d")), []error{unread}, 2, true},
		"gone again":           {false, bound(), bound(bindingTo("d")), []error{gone}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sceneOfAccounts(t)
			s.requests = []string{updateRobot}
			// What is stored is read, whatever was sent.
			stored := bound(bindingTo("d"))
			stored.ResourceVersion = "5"
			reads := 0
			s.client.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
				reads++
				if reads <= len(c.answers) {
					return true, nil, c.answers[reads-1]
				}
				return true, stored, nil
			})
			p := s.policies(t)
			p.Bound = selected.NewBound()
			check := FinalChecks{Delegations: s.index, Policies: p}.Commit(requesting(s.by(caller), "update", "", "serviceaccounts"), c.dryRun)
			check.Before(c.old)
			if err := check.Begin(c.sent); (err != nil) != (name == "refused") {
				t.Fatal(err)
			}
			if reads != 0 {
				t.Error("the account is read before it is stored")
			}
			check.End()
			check.End()
			if got := p.Bound.Account("d-uid") != ""; reads != c.reads || got != c.bound {
				t.Errorf("%d reads, want %d; bound: %t, want %t", reads, c.reads, got, c.bound)
			}
		})
	}
}
