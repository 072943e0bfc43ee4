// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// seven returns a tenant with seven names: three users, two managers and two sudoers.
func seven(i int) *v1alpha1.LNamespace {
	lns := tenant(fmt.Sprintf("seven-%05d", i))
	lns.Spec.Users = []v1alpha1.Subject{user(fmt.Sprint("user-", i)), user(fmt.Sprint("user-", i+1)), user(fmt.Sprint("user-", i+2))}
	lns.Spec.Managers = []v1alpha1.Subject{user(fmt.Sprint("manager-", i)), user(fmt.Sprint("manager-", i+1))}
	lns.Spec.Sudoers = []v1alpha1.Subject{user(fmt.Sprint("sudoer-", i)), user(fmt.Sprint("sudoer-", i+1))}
	return lns
}

// TestRequestsPerTenant counts the requests for a new tenant. It is one request for each object that is
// created, one patch of the finalizers and one patch of the status.
func TestRequestsPerTenant(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		folder, features string
		flags            []string
		// creations are those of a namespace, a binding of the users, a role and its binding of
		// the managers, a binding, a role and its binding of the group of sudoers, and for each of two
		// sudoers a role and its binding, or a delegation.
		creations, patches float64
		// person is who creates the tenants. The controller looks for what speaks against those of a person, and does
		// not ask about those of an administrator, which is the default.
		person string
	}{
		"impersonation": {"default", "GranularAuthorization=false", nil, 11, 1, ""},
		"delegation":    {"delegation", gates, []string{"--sudo", "Delegation", "--field-permissions"}, 9, 1, ""},
		// The bill has a patch of the status before the table has the period, one after, and a finalizer.
		"bills":  {"default", "GranularAuthorization=false", []string{"--billing-source", "file:bill?mode=memory&cache=shared"}, 11, 4, ""},
		"people": {"default", "GranularAuthorization=false", []string{"--lnamespaces-per-creator", "0"}, 11, 1, "somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, tc.folder, "--feature-gates", tc.features)
			address := freeAddress(t)
			c.run(t, append(tc.flags, "--metrics-address", address, "--leader-elect=false", "--discovery-every", "1h")...)
			c.make(t, seven(0)) // the first one waits for discovery
			quiet(t, address, 1)
			before := read(t, address)
			const count = 40
			who := c.client
			if tc.person != "" {
				who = c.as(t, tc.person)
			}
			parallel(t, count, func(i int) error { return who.Create(context.Background(), seven(i+1)) })
			for i := range count {
				c.settled(t, seven(i+1))
			}
			quiet(t, address, 0)
			got := read(t, address).since(before)
			t.Logf("%s for %d tenants: %.2f for each", got, count, got.total()/count)
			// The controller can reconcile a tenant before its cache has what it wrote, and then it reads some
			// of it, or writes the same status once more.
			for method, want := range map[string]float64{"POST": tc.creations + 1, "PATCH": tc.patches + 0.5, "GET": 1, "PUT": 0, "DELETE": 0} {
				if got[method]/count > want {
					t.Errorf("%s: %.2f requests for each tenant, want at most %.1f", method, got[method]/count, want)
				}
			}
		})
	}
}
