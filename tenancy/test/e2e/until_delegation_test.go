// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// TestDelegatedEntriesEnd checks that the server itself ends sudo by delegation at the second, while no
// controller runs.
//
// Attack: a sudoer uses a delegation of sudo after its entry has ended, while no controller runs
// Answer: 403 from that second on; the controller then deletes the delegation, and keeps that of another sudoer
func TestDelegatedEntriesEnd(t *testing.T) {
	c := byDelegation(t)
	lns := tenant("lapsing")
	end := soon(lasting)
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, until("lapsing-s", end))
	c.make(t, lns)
	ending, staying := delegationOf(t, lns, user("lapsing-s")), delegationOf(t, lns, user("lapsing-sudoer"))
	uses := func(d v1alpha1.SudoDelegation) error {
		return c.under(t, byName(d), d.Subject.Name).List(t.Context(), &corev1.SecretList{}, client.InNamespace(lns.Name))
	}
	wait(t, "the delegations can be used", func() error { return errors.Join(uses(ending), uses(staying)) })
	if err := delegating.controller.stop(); err != nil {
		t.Fatal(err)
	}
	for {
		asked := time.Now()
		err := uses(ending)
		answered := time.Now()
		if err != nil {
			if !forbidden(err) || answered.Before(end) {
				t.Errorf("%s before the end: %v", end.Sub(answered), err)
			}
			break
		}
		if !asked.Before(end) {
			t.Fatalf("the delegation can be used %s after its end", asked.Sub(end))
		}
		<-time.After(time.Millisecond)
	}
	if err := uses(staying); err != nil {
		t.Error(err)
	}
	var err error
	if delegating.controller, err = c.startDelegating(); err != nil {
		t.Fatal(err)
	}
	wait(t, "the delegation is deleted", func() error {
		err := c.client.Get(t.Context(), client.ObjectKey{Name: ending.Delegation}, &authority.AuthorityDelegation{})
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	c.settled(t, lns)
	if got := delegationOf(t, lns, user("lapsing-sudoer")); got != staying {
		t.Errorf("the other delegation was replaced: %+v", got)
	}
	// A longer entry makes another delegation: the server would not make one longer.
	c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers[1] = until("lapsing-s", time.Now().Add(time.Hour)) })
	if longer := delegationOf(t, lns, user("lapsing-s")); longer.UID == ending.UID || uses(longer) != nil {
		t.Errorf("%+v: %v", longer, uses(longer))
	}
}
