// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing"
	"kube-granular.dev/tenancy/internal/billing/report"
	"kube-granular.dev/tenancy/internal/billing/store"
)

var begin = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func hour(n int) time.Time { return begin.Add(time.Duration(n) * time.Hour) }

// bill is a table and the tenants of a cluster. The tenant team had the accounts a, b and c. The tenant
// web has one. There were two tenants called old, one after the other.
type bill struct {
	rows      []store.Period
	team, web *v1alpha1.LNamespace
}

func newBill() *bill {
	b := &bill{rows: []store.Period{
		{TenantUID: "u3", Sequence: 1, Tenant: "old", Account: "a", Start: hour(0), End: hour(1)},
		{TenantUID: "u3", Sequence: 2, Tenant: "old", Account: "b", Start: hour(1), End: hour(2)},
		{TenantUID: "u4", Sequence: 1, Tenant: "old", Account: "b", Start: hour(2), End: hour(3)},
	}}
	b.team, b.web = b.tenant("team", "u1", "a", "b", "c"), b.tenant("web", "u2", "a")
	return b
}

// tenant makes a tenant that had the accounts one after the other, each for ten hours. The table has its
// periods, as the controller writes them.
func (b *bill) tenant(name string, uid types.UID, accounts ...string) *v1alpha1.LNamespace {
	t := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: metav1.NewTime(begin)}}
	for i, account := range accounts {
		t.Spec.Billing = v1alpha1.Billing{Account: account, Labels: map[string]v1alpha1.BillingLabel{"k": "v"}}
		t.Status.Billing = billing.Next(t, hour(10*i))
	}
	for _, p := range append(slices.Clone(t.Status.Billing.Pending), *t.Status.Billing.Open) {
		b.rows = append(b.rows, billing.Row(t, p))
	}
	t.Status.Billing.Pending, t.Status.Billing.OpenStored = nil, true
	return t
}

// row returns a row of the table.
func (b *bill) row(uid string, sequence int64) *store.Period {
	i := slices.IndexFunc(b.rows, func(p store.Period) bool { return p.TenantUID == uid && p.Sequence == sequence })
	return &b.rows[i]
}

// drop deletes a row of the table.
func (b *bill) drop(uid string, sequence int64) {
	b.rows = slices.DeleteFunc(b.rows, func(p store.Period) bool { return p.TenantUID == uid && p.Sequence == sequence })
}

// TestReconcile checks that each difference between the table and the cluster is found, and that there
// is none where there is no difference.
func TestReconcile(t *testing.T) {
	const changed = "team (u1) periods 1 to 2: the table does not have what the controller wrote: an account, a label or a time was changed"
	for name, tc := range map[string]struct {
		change func(*bill)
		want   []string
	}{
		"no difference": {func(*bill) {}, nil},
		"a changed account": {func(b *bill) { b.row("u1", 3).Account = "x" },
			[]string{`team (u1) period 3: the account is "x" in the table, and "c" in the cluster`}},
		"a changed account of a period that has ended": {func(b *bill) { b.row("u1", 1).Account = "x" }, []string{changed}},
		"a changed label": {func(b *bill) { b.row("u1", 3).Labels = nil },
			[]string{`team (u1) period 3: the labels are map[] in the table, and map["k":"v"] in the cluster`}},
		"a changed label of a period that has ended": {func(b *bill) { b.row("u1", 2).Labels = map[string]string{"k": "w"} }, []string{changed}},
		"a changed tenant": {func(b *bill) { b.row("u1", 2).Tenant = "other" },
			[]string{`team (u1) period 2: the table calls the tenant "other"`}},
		"a missing row":            {func(b *bill) { b.drop("u1", 2) }, []string{"team (u1) period 2 is missing in the table"}},
		"the first row is missing": {func(b *bill) { b.drop("u1", 1) }, []string{"team (u1) period 1 is missing in the table"}},
		"the open row is missing":  {func(b *bill) { b.drop("u1", 3) }, []string{"team (u1) period 3 is missing in the table"}},
		"all but the open row":     {func(b *bill) { b.drop("u1", 1); b.drop("u1", 2) }, []string{"team (u1) 2 of the periods 1 to 2 are missing in the table"}},
		"all rows":                 {func(b *bill) { b.drop("u2", 1) }, []string{"web (u2) is in the cluster and not billed"}},
		"not billed yet":           {func(b *bill) { b.web.Status.Billing = nil }, []string{"web (u2) is in the cluster and not billed"}},
		"a closed row": {func(b *bill) { b.row("u1", 3).End = hour(25) },
			[]string{"team (u1) period 3 ends at 2026-11-02T13:00:00Z in the table, and is open in the cluster"}},
		"an opened row": {func(b *bill) { b.row("u1", 1).End = time.Time{} }, []string{"team (u1) period 1 has no end in the table", changed}},
		"a moved start": {func(b *bill) { b.row("u1", 3).Start = hour(21) }, []string{
			"team (u1) period 3 begins at 2026-11-02T09:00:00Z in the table, and at 2026-11-02T08:00:00Z in the cluster",
			"team (u1) period 3 begins at 2026-11-02T09:00:00Z, and period 2 ends at 2026-11-02T08:00:00Z"}},
		"a moved first start": {func(b *bill) { b.row("u1", 1).Start = hour(1) }, []string{
			"team (u1) period 1 begins at 2026-11-01T13:00:00Z in the table, and the tenant was created at 2026-11-01T12:00:00Z", changed}},
		"a start and the end before it": {func(b *bill) { b.row("u1", 1).End, b.row("u1", 2).Start = hour(11), hour(11) }, []string{changed}},
		"an end before the start":       {func(b *bill) { b.row("u4", 1).End = hour(1) }, []string{"old (u4) period 1 ends before it begins"}},
		"a foreign row of a tenant": {func(b *bill) {
			b.rows = append(b.rows, store.Period{TenantUID: "u1", Sequence: 4, Tenant: "team", Account: "x", Start: hour(30), End: hour(31)})
		}, []string{"team (u1) period 4 is in the table and not in the cluster"}},
		"a foreign row with any number": {func(b *bill) {
			b.rows = append(b.rows, store.Period{TenantUID: "u3", Sequence: 1 << 60, Tenant: "old", Account: "x", Start: hour(2), End: hour(2)})
		}, []string{"old (u3) 1152921504606846973 of the periods 3 to 1152921504606846975 are missing in the table"}},
		"a foreign row below one": {func(b *bill) {
			b.rows = append(b.rows, store.Period{TenantUID: "u1", Sequence: 0, Tenant: "team", Account: "x", Start: hour(0), End: hour(0)})
		}, []string{"team (u1) period 0 is in the table and not in the cluster"}},
		"a foreign row with the name of a tenant": {func(b *bill) {
			b.rows = append(b.rows, store.Period{TenantUID: "u9", Sequence: 1, Tenant: "team", Account: "x", Start: hour(5), End: hour(6)})
		}, []string{"team is billed twice from 2026-11-01T17:00:00Z on, as u1 and as u9"}},
		"an open foreign row": {func(b *bill) {
			b.rows = append(b.rows, store.Period{TenantUID: "u9", Sequence: 1, Tenant: "new", Account: "x", Start: hour(5)})
		}, []string{"new (u9) is billed and not in the cluster"}},
		"a missing row of a deleted tenant": {func(b *bill) { b.drop("u3", 1) }, []string{"old (u3) period 1 is missing in the table"}},
		"a gap of a deleted tenant": {func(b *bill) { b.row("u3", 2).Start = hour(2) },
			[]string{"old (u3) period 2 begins at 2026-11-01T14:00:00Z, and period 1 ends at 2026-11-01T13:00:00Z"}},
		"a period that waits": {func(b *bill) {
			b.team.Spec.Billing.Account = "d"
			b.team.Status.Billing = billing.Next(b.team, hour(30))
			b.row("u1", 3).Account = "c"
		}, []string{"team (u1) waits for the table: period 4"}},
		"a checksum that began later": {func(b *bill) {
			b.team.Status.Billing.Checksum = ""
			b.row("u1", 1).Account = "x" // nothing tells
		}, nil},
		"a tenant that is being deleted": {func(b *bill) {
			deletion := metav1.NewTime(hour(30))
			b.team.DeletionTimestamp = &deletion
			b.team.Status.Billing = billing.Next(b.team, hour(31))
			b.team.Status.Billing.Pending, b.row("u1", 3).End = nil, hour(30)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBill()
			tc.change(b)
			got := report.Reconcile(b.rows, []v1alpha1.LNamespace{*b.team, *b.web})
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}
