// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing/store"
)

// payer is who pays: an account, with billing labels.
type payer struct {
	account string
	labels  map[string]string
}

func (p payer) pays(period *v1alpha1.BillingPeriod) bool {
	return period.Account == p.account && maps.Equal(period.Labels, p.labels)
}

// outbox computes the next outbox of a tenant, the periods in its status.
type outbox struct {
	tenant *v1alpha1.LNamespace
	now    time.Time
	v1alpha1.BillingStatus
	changed bool
}

// Next returns the new outbox of a tenant, the periods in its status, if the account or the
// billing labels have changed, if the tenant is being deleted, or if it has no outbox yet. It
// returns nil if the outbox stays as it is: nothing has changed, or the outbox is full.
//
// The first period begins at the creation of the tenant, and the last one ends at its deletion. The
// others begin at the changes that the annotation records. If a change is not recorded, or if its
// time is not known, the former payer pays until the next time that is known, and now at the latest.
func Next(t *v1alpha1.LNamespace, now time.Time) *v1alpha1.BillingStatus {
	o := outbox{tenant: t, now: now}
	if t.Status.Billing != nil {
		if t.Status.Billing.Open == nil {
			return nil // the last period has ended
		}
		t.Status.Billing.DeepCopyInto(&o.BillingStatus)
	}
	present := payer{t.Spec.Billing.Account, billable(t.Spec.Billing.Labels)}
	recorded := changes(t, o.RecordedGeneration)
	first := present
	if len(recorded) > 0 {
		first = recorded[0].replaced
	}
	if o.Open == nil {
		o.begin(1, first, t.CreationTimestamp)
	}
	done := o.replace(first, time.Time{}, recorded)
	for i, c := range recorded {
		next := present
		if i+1 < len(recorded) {
			next = recorded[i+1].replaced
		}
		if done = done && o.replace(next, c.ended, recorded[i+1:]); !done {
			break
		}
		o.RecordedGeneration = c.generation
	}
	if done && t.DeletionTimestamp != nil && !full(o.Pending) {
		o.end(*t.DeletionTimestamp)
		o.Open, o.OpenStored = nil, false
	}
	if !o.changed {
		return nil
	}
	if done {
		o.RecordedGeneration = t.Generation
	}
	return &o.BillingStatus
}

// replace ends the open period at the time ended, and begins the next one, unless the same payer goes
// on paying. If ended is zero, it uses the first known time of the later changes, or now. It returns
// false if the outbox is full.
func (o *outbox) replace(next payer, ended time.Time, later []change) bool {
	if next.pays(o.Open) {
		return true
	}
	if full(o.Pending) {
		return false
	}
	late := ended.IsZero()
	for _, c := range later {
		if ended.IsZero() {
			ended = c.ended
		}
	}
	if ended.IsZero() || ended.After(o.now) { // the clock of the API server, or a clock that went back
		ended = o.now
	}
	moment := metav1.NewTime(ended).Rfc3339Copy()
	if deleted := o.tenant.DeletionTimestamp; deleted != nil && deleted.Before(&moment) {
		moment = *deleted
	}
	moment = o.end(moment)
	o.begin(o.Open.Sequence+1, next, moment)
	o.Open.Late = late
	return true
}

// begin begins a period.
func (o *outbox) begin(sequence int64, p payer, start metav1.Time) {
	o.Open = &v1alpha1.BillingPeriod{Sequence: sequence, Account: p.account, Labels: p.labels, Start: start}
	o.OpenStored, o.changed = false, true
}

// end ends the open period, not before it began, and returns its end.
func (o *outbox) end(moment metav1.Time) metav1.Time {
	if moment.Before(&o.Open.Start) {
		moment = o.Open.Start
	}
	o.Open.End = &moment
	o.Pending = append(o.Pending, *o.Open)
	o.Checksum = store.Checksum(o.Checksum, Row(o.tenant, *o.Open))
	o.changed = true
	return moment
}

// Row returns the row of the table for a period of the tenant.
func Row(t *v1alpha1.LNamespace, p v1alpha1.BillingPeriod) store.Period {
	row := store.Period{TenantUID: string(t.UID), Sequence: p.Sequence, Tenant: t.Name, Account: p.Account, Labels: p.Labels,
		Start: p.Start.Time}
	if p.End != nil {
		row.End = p.End.Time
	}
	return row
}

// full reports whether no further period may wait for the table.
func full(pending []v1alpha1.BillingPeriod) bool {
	if len(pending) >= maxPending {
		return true
	}
	text, err := json.Marshal(pending)
	return err != nil || len(text) >= maxPendingBytes
}

// billable returns the billing labels that are copied to the status: those within the limits. An
// LNamespace whose labels are too large is billed without them, and not left unbilled.
func billable(labels map[string]v1alpha1.BillingLabel) map[string]string {
	var result map[string]string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		v := string(labels[k])
		if len(result) == maxLabels || utf8.RuneCountInString(k) > maxLabelKey || utf8.RuneCountInString(v) > maxLabelValue {
			continue
		}
		if result == nil {
			result = map[string]string{}
		}
		result[k] = v
	}
	return result
}
