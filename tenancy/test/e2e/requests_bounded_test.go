// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// crowd creates more requests than one person may have, and returns them. who returns the client of each.
func (c *cluster) crowd(t *testing.T, lns *v1alpha1.LNamespace, name string, who func(i int) client.Client) []*v1alpha1.SudoRequest {
	t.Helper()
	var all []*v1alpha1.SudoRequest
	for i := range terms.Open + 3 {
		r := sudoRequest(lns, fmt.Sprintf("%s-%d", name, i), "1h")
		wait(t, "the request can be created", func() error { return who(i).Create(t.Context(), r) })
		all = append(all, r)
	}
	return all
}

// open returns how many of the requests wait or give sudo, when the controller has seen them all.
func (c *cluster) open(t *testing.T, all []*v1alpha1.SudoRequest) int {
	t.Helper()
	open := 0
	wait(t, "all requests are seen", func() error {
		open = 0
		for _, r := range all {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			switch {
			case r.Status.State == "":
				return fmt.Errorf("%s has no state", r.Name)
			case !r.Status.State.IsFinal():
				open++
			case !terms.IsCrowded(r.Status):
				return fmt.Errorf("%s: %+v", r.Name, r.Status)
			}
		}
		return nil
	})
	return open
}

// TestRequestsAreBounded checks that nobody has more requests for sudo than the limit, and that others are not kept from
// theirs.
//
// Attack: a sudoer files any number of requests: itself, by another user name with its UID, or by many service accounts
// of a group in the list
// Was: got through
// Answer: the controller refuses what is beyond 10, and gives no sudo by it; another sudoer's request waits as always
// Held by: TestCrowdedRequests, TestCrowdsOfOneSecond
func TestRequestsAreBounded(t *testing.T) {
	lns := shared.make(t, approved("crowding"))
	uid := func(name string) client.Client {
		config := rest.CopyConfig(shared.admin)
		config.Impersonate = rest.ImpersonationConfig{UserName: name, UID: "one", Groups: []string{"crowding-ops", "system:authenticated"}}
		other, err := client.New(config, client.Options{Scheme: shared.client.Scheme(), Mapper: shared.client.RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
	first, second := uid("crowding-olga"), uid("olga@crowding.example.com")
	all := shared.crowd(t, lns, "own", func(i int) client.Client { return []client.Client{first, second}[i%2] })
	if got := shared.open(t, all); got != terms.Open {
		t.Errorf("%d requests of one person wait", got)
	}
	// Somebody else has its own, and what is refused can't be approved.
	shared.asks(t, shared.as(t, "crowding-sudoer"), sudoRequest(lns, "other", "1h"), v1alpha1.RequestPending)
	approver := shared.as(t, "crowding-second")
	for _, r := range all {
		if terms.IsCrowded(r.Status) {
			if err := decides(t, approver, r, v1alpha1.Approved); err != nil {
				t.Fatal(err)
			}
			shared.isIn(t, r, v1alpha1.RequestRefused)
			break
		}
	}
	// After one is withdrawn, there is room for one.
	for _, r := range all {
		if r.Status.State == v1alpha1.RequestPending && r.Spec.Requester.Username == "crowding-olga" {
			if err := decides(t, first, r, v1alpha1.Denied); err != nil {
				t.Fatal(err)
			}
			shared.isIn(t, r, v1alpha1.RequestDenied)
			break
		}
	}
	shared.asks(t, first, sudoRequest(lns, "again", "1h"), v1alpha1.RequestPending)
	shared.asks(t, second, sudoRequest(lns, "more", "1h"), v1alpha1.RequestRefused)

	lns = approved("crowding-robots")
	lns.Spec.Sudo = v1alpha1.Sudo{MaxDuration: "1h"}
	group := "system:serviceaccounts:" + lns.Name
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: group})
	shared.make(t, lns)
	all = shared.crowd(t, lns, "robot", func(i int) client.Client {
		return shared.as(t, fmt.Sprintf("system:serviceaccount:%s:robot-%d", lns.Name, i), group)
	})
	if got := shared.open(t, all); got != terms.Open {
		t.Errorf("%d requests of service accounts give sudo", got)
	}
	shared.asks(t, shared.as(t, "crowding-robots-sudoer"), sudoRequest(lns, "person", "1h"), v1alpha1.RequestGranted)
}
