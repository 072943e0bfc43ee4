// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing"
	"kube-granular.dev/tenancy/internal/billing/store"
)

// Reconcile returns a text for each difference between the billing table and the tenants in the
// cluster. rows are all rows of the table.
//
// The status of a tenant has its open period, and a checksum of the periods that have ended. So for a
// tenant in the cluster, Reconcile finds each row that is missing, that nobody of the project wrote, or
// that was changed. Nothing in the cluster tells about a tenant that was deleted. Its rows must follow
// one another, and end before a tenant of the same name begins.
func Reconcile(rows []store.Period, tenants []v1alpha1.LNamespace) []string {
	byUID := map[string]map[int64]store.Period{}
	for _, row := range rows {
		if byUID[row.TenantUID] == nil {
			byUID[row.TenantUID] = map[int64]store.Period{}
		}
		byUID[row.TenantUID][row.Sequence] = row
	}
	var wrong []string
	for i := range tenants {
		t := &tenants[i]
		r := reconciliation{name: t.Name, uid: string(t.UID), rows: byUID[string(t.UID)]}
		r.living(t)
		wrong = append(wrong, r.wrong...)
		delete(byUID, string(t.UID))
	}
	for _, uid := range slices.Sorted(maps.Keys(byUID)) {
		r := reconciliation{uid: uid, rows: byUID[uid]}
		r.deleted()
		wrong = append(wrong, r.wrong...)
	}
	return append(wrong, overlaps(rows)...)
}

// reconciliation compares the rows of one tenant.
type reconciliation struct {
	name, uid string
	// rows are the rows of the tenant by their sequence number.
	rows  map[int64]store.Period
	wrong []string
}

func (r *reconciliation) report(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf("%s (%s) ", r.name, r.uid)+fmt.Sprintf(format, args...))
}

// living compares the rows of a tenant in the cluster with its status.
func (r *reconciliation) living(t *v1alpha1.LNamespace) {
	b := t.Status.Billing
	if b == nil || len(r.rows) == 0 {
		r.report("is in the cluster and not billed")
		return
	}
	known := slices.Clone(b.Pending)
	if b.Open != nil {
		known = append(known, *b.Open)
	}
	last := int64(0)
	for _, p := range known {
		last = max(last, p.Sequence)
		row, ok := r.rows[p.Sequence]
		switch {
		case ok:
			r.period(row, billing.Row(t, p))
		case b.Open == nil || p.Sequence != b.Open.Sequence || !b.OpenStored:
			r.report("waits for the table: period %d", p.Sequence)
		}
	}
	if len(known) == 0 { // the LNamespace is being deleted, and the table has all periods
		last = slices.Max(slices.Collect(maps.Keys(r.rows)))
	}
	if first, ok := r.rows[1]; ok && !first.Start.Equal(t.CreationTimestamp.Time) {
		r.report("period 1 begins at %s in the table, and the tenant was created at %s", stamp(first.Start), stamp(t.CreationTimestamp.Time))
	}
	r.sequence(last, b.Open != nil, waiting(b))
	r.checksum(t)
}

// waiting returns the sequence numbers of the periods that the table need not have yet.
func waiting(b *v1alpha1.BillingStatus) map[int64]bool {
	all := map[int64]bool{}
	for _, p := range b.Pending {
		all[p.Sequence] = true
	}
	if b.Open != nil && !b.OpenStored {
		all[b.Open.Sequence] = true
	}
	return all
}

// period compares a row with what the status says.
func (r *reconciliation) period(row, want store.Period) {
	if row.Account != store.Storable(want.Account) {
		r.report("period %d: the account is %q in the table, and %q in the cluster", row.Sequence, row.Account, want.Account)
	}
	if len(row.Labels)+len(want.Labels) > 0 && !maps.Equal(row.Labels, want.Labels) {
		r.report("period %d: the labels are %q in the table, and %q in the cluster", row.Sequence, row.Labels, want.Labels)
	}
	if !row.Start.Equal(want.Start) {
		r.report("period %d begins at %s in the table, and at %s in the cluster", row.Sequence, stamp(row.Start), stamp(want.Start))
	}
	if !row.End.IsZero() && !row.End.Equal(want.End) {
		r.report("period %d ends at %s in the table, and %s in the cluster", row.Sequence, stamp(row.End), ending(want.End))
	}
}

// sequence checks that the rows have the numbers 1 to last, that each begins when the one before it
// ends, and that only the last one can be open. Rows that wait may be missing.
func (r *reconciliation) sequence(last int64, open bool, waits map[int64]bool) {
	for _, n := range slices.Sorted(maps.Keys(r.rows)) {
		row := r.rows[n]
		if n < 1 || n > last {
			r.report("period %d is in the table and not in the cluster", n)
		}
		if r.name != row.Tenant {
			r.report("period %d: the table calls the tenant %q", n, row.Tenant)
		}
	}
	r.missing(last, waits)
	for _, n := range slices.Sorted(maps.Keys(r.rows)) {
		row := r.rows[n]
		if row.End.IsZero() && (n < last || !open) && !waits[n] {
			r.report("period %d has no end in the table", n)
		}
		if !row.End.IsZero() && row.End.Before(row.Start) {
			r.report("period %d ends before it begins", n)
		}
		before, ok := r.rows[n-1]
		if ok && !before.End.IsZero() && !before.End.Equal(row.Start) {
			r.report("period %d begins at %s, and period %d ends at %s", n, stamp(row.Start), n-1, stamp(before.End))
		}
	}
}

// missing reports which of the periods 1 to last have no row. A number in the table can be very large.
func (r *reconciliation) missing(last int64, waits map[int64]bool) {
	next := int64(1)
	gap := func(end int64) {
		absent := end - next
		for n := range waits {
			if n >= next && n < end {
				absent--
			}
		}
		switch {
		case absent == 1 && end == next+1:
			r.report("period %d is missing in the table", next)
		case absent > 0:
			r.report("%d of the periods %d to %d are missing in the table", absent, next, end-1)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(r.rows)) {
		if n >= next && n <= last {
			gap(n)
			next = n + 1
		}
	}
	gap(last + 1)
}

// checksum compares the rows of the periods that have ended with the checksum in the status. It can't
// if a row is missing.
func (r *reconciliation) checksum(t *v1alpha1.LNamespace) {
	b := t.Status.Billing
	var first int64
	if n, err := fmt.Sscanf(b.Checksum, "%d-", &first); n != 1 || err != nil {
		return // no period has ended since the controller computes checksums
	}
	ended := map[int64]store.Period{}
	for n, row := range r.rows {
		if n >= first && (b.Open == nil || n < b.Open.Sequence) {
			ended[n] = row
		}
	}
	for _, p := range b.Pending {
		ended[p.Sequence] = billing.Row(t, p)
	}
	last, sum := first+int64(len(ended))-1, ""
	for n := first; n <= last; n++ {
		row, ok := ended[n]
		if !ok {
			return // it is reported as missing
		}
		row.Tenant = t.Name
		sum = store.Checksum(sum, row)
	}
	if b.Open != nil && last != b.Open.Sequence-1 {
		return // the last ones are reported as missing
	}
	if sum != b.Checksum {
		r.report("periods %d to %d: the table does not have what the controller wrote: an account, a label or a time was changed", first, last)
	}
}

// deleted checks the rows of a tenant that is not in the cluster.
func (r *reconciliation) deleted() {
	last := slices.Max(slices.Collect(maps.Keys(r.rows)))
	r.name = r.rows[last].Tenant
	if r.rows[last].End.IsZero() {
		r.report("is billed and not in the cluster")
	}
	r.sequence(last, true, nil)
}

// overlaps returns a text for each two tenants of the same name that are billed for the same time.
func overlaps(rows []store.Period) []string {
	var wrong []string
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b store.Period) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), a.Start.Compare(b.Start), cmp.Compare(a.TenantUID, b.TenantUID), cmp.Compare(a.Sequence, b.Sequence))
	})
	for i, latest := 1, 0; i < len(sorted); i++ {
		before, row := sorted[latest], sorted[i]
		if before.Tenant == row.Tenant && before.TenantUID != row.TenantUID && (before.End.IsZero() || before.End.After(row.Start)) {
			wrong = append(wrong, fmt.Sprintf("%s is billed twice from %s on, as %s and as %s", row.Tenant, stamp(row.Start), before.TenantUID, row.TenantUID))
		}
		if before.Tenant != row.Tenant || !before.End.IsZero() && (row.End.IsZero() || row.End.After(before.End)) {
			latest = i
		}
	}
	return wrong
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func ending(t time.Time) string {
	if t.IsZero() {
		return "is open"
	}
	return "at " + stamp(t)
}
