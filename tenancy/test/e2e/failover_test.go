// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/names"
)

// TestFailover changes tenants while one leader is killed, and while the next leader is stopped
// until it has lost its lease and then continues. It checks that the permissions match the lists,
// and that the billing table has each period once, without gaps or overlaps.
func TestFailover(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	bill := filepath.Join(c.dir, "bill.db")
	lead := c.run(t, "--billing-source", bill)
	standby := func() *controller {
		k, err := c.startControllerUntil("Attempting to acquire leader lease", "--billing-source", bill)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	second := standby()
	const count = 6
	var all []*v1alpha1.LNamespace
	for i := range count {
		all = append(all, c.make(t, tenant(fmt.Sprintf("failover-%d", i))))
	}
	// change sets another account and another sudoer for each tenant, without waiting.
	changes := 0
	change := func() {
		t.Helper()
		changes++
		for _, lns := range all {
			before := lns.DeepCopy()
			lns.Spec.Billing.Account = fmt.Sprint("account-", changes)
			lns.Spec.Sudoers = []v1alpha1.Subject{user(fmt.Sprintf("%s-sudoer-%d", lns.Name, changes))}
			if err := c.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// works waits until the controller has reconciled all tenants and, if billed is true, until the
	// billing table has their accounts. billed must be false while a stopped process may hold a lock
	// on the table.
	works := func(k *controller, what string, billed bool) {
		t.Helper()
		wait(t, what, func() error {
			for _, lns := range all {
				if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
					return err
				}
				stored := lns.Status.Billing != nil && lns.Status.Billing.Open != nil && lns.Status.Billing.Open.Account == lns.Spec.Billing.Account && lns.Status.Billing.OpenStored
				if lns.Status.ObservedGeneration != lns.Generation || billed && !stored {
					return fmt.Errorf("%s: generation %d, status %+v\n%s", lns.Name, lns.Generation, lns.Status, k.output)
				}
			}
			return nil
		})
	}
	change()
	if err := lead.kill(); err != nil { // while the leader reconciles the change
		t.Fatal(err)
	}
	change()
	works(second, "the second one takes over", true)
	third := standby()
	change()
	if err := second.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	change()
	works(third, "the third one takes over", false)
	// The second controller believes that it is the leader until it tries to renew its lease.
	if err := second.process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	change()
	select {
	case err := <-second.ended:
		if err == nil {
			t.Error("the controller that lost its lease ended without an error")
		}
	case <-time.After(patience):
		t.Errorf("the controller that lost its lease did not end\n%s", second.output)
		if err := second.kill(); err != nil {
			t.Error(err)
		}
	}
	works(third, "the third one works", true)
	for _, lns := range all {
		if err := c.asWanted(t, lns); err != nil {
			t.Error(err)
		}
		c.allowed(t, lns.Spec.Sudoers[0].Name, nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
		for i := 1; i < changes; i++ {
			c.refused(t, fmt.Sprintf("%s-sudoer-%d", lns.Name, i), nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
			c.gone(t, sudoerRole(lns.Name, fmt.Sprintf("%s-sudoer-%d", lns.Name, i)))
		}
	}
	// Deleting a tenant ends its last period.
	if err := c.client.Delete(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	c.gone(t, all[0].DeepCopy())
	if err := third.stop(); err != nil {
		t.Error(err)
	}
	table, err := store.Open(store.Config{Driver: "sqlite", Source: bill, Table: "lnamespace_periods"})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	periods, err := table.Between(t.Context(), time.Unix(0, 0), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	byTenant := map[string][]store.Period{}
	for _, p := range periods {
		byTenant[p.TenantUID] = append(byTenant[p.TenantUID], p)
	}
	if len(byTenant) != count {
		t.Errorf("the billing table has %d tenants", len(byTenant))
	}
	for i, lns := range all {
		rows := map[int64]store.Period{}
		for _, p := range byTenant[string(lns.UID)] {
			if _, twice := rows[p.Sequence]; twice {
				t.Errorf("%s: the table has period %d twice", lns.Name, p.Sequence)
			}
			rows[p.Sequence] = p
		}
		last := int64(len(rows))
		for n := int64(1); n <= last; n++ {
			p, ok := rows[n]
			switch {
			case !ok:
				t.Errorf("%s: the table does not have period %d of %d", lns.Name, n, last)
			case n == 1 && !p.Start.Equal(lns.CreationTimestamp.Time):
				t.Errorf("%s: the first period begins at %s, but the tenant was created at %s", lns.Name, p.Start, lns.CreationTimestamp)
			case n > 1 && !p.Start.Equal(rows[n-1].End):
				t.Errorf("%s: period %d begins at %s, but the previous one ends at %s", lns.Name, n, p.Start, rows[n-1].End)
			case p.End.IsZero() != (n == last && i > 0):
				t.Errorf("%s: period %d of %d ends at %s", lns.Name, n, last, p.End)
			}
		}
		if rows[last].Account != lns.Spec.Billing.Account {
			t.Errorf("%s: %s pays, want %s", lns.Name, rows[last].Account, lns.Spec.Billing.Account)
		}
	}
}
