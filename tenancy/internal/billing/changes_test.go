// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package billing_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing"
	"kube-granular.dev/tenancy/internal/names"
)

var created = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// hours returns a time some hours after the creation of the tenant.
func hours(count int) time.Time { return created.Add(time.Duration(count) * time.Hour) }

// line returns a line of the annotation as the policy writes it: that the account paid until then.
func line(generation int64, ended time.Time, account string) string {
	return fmt.Sprintf("%d %s %s", generation, ended.Format(time.RFC3339), strconv.Quote(account))
}

// text returns the periods of an outbox: the account of each, its start and end in hours since the
// creation of the tenant, and whether it is late.
func text(b *v1alpha1.BillingStatus) string {
	if b == nil {
		return "unchanged"
	}
	var all []string
	add := func(p v1alpha1.BillingPeriod) {
		end, late := "open", ""
		if p.End != nil {
			end = fmt.Sprint(p.End.Sub(created).Hours())
		}
		if p.Late {
			late = " late"
		}
		all = append(all, fmt.Sprintf("%d %s:%v-%s%s", p.Sequence, p.Account, p.Start.Sub(created).Hours(), end, late))
	}
	for _, p := range b.Pending {
		add(p)
	}
	if b.Open != nil {
		add(*b.Open)
	}
	return strings.Join(all, ", ")
}

// TestChangesWhileAway checks the periods of changes that happened while no controller ran. It returns
// ten hours after the creation of the tenant.
func TestChangesWhileAway(t *testing.T) {
	open := func(account string, start int) *v1alpha1.BillingStatus {
		return &v1alpha1.BillingStatus{Open: &v1alpha1.BillingPeriod{Sequence: 1, Account: account, Start: metav1.NewTime(hours(start))}}
	}
	for name, tc := range map[string]struct {
		before   *v1alpha1.BillingStatus
		recorded int64
		lines    []string
		account  string
		deleted  int
		want     string
	}{
		"nothing":      {before: open("a", 0), account: "a", want: "unchanged"},
		"a new tenant": {account: "a", want: "1 a:0-open"},
		"a change":     {before: open("a", 0), lines: []string{line(2, hours(3), "a")}, account: "b", want: "1 a:0-3, 2 b:3-open"},
		"an overtaken account": {before: open("a", 0), lines: []string{line(2, hours(3), "a"), line(4, hours(5), "b")}, account: "c",
			want: "1 a:0-3, 2 b:3-5, 3 c:5-open"},
		"there and back": {before: open("a", 0), lines: []string{line(2, hours(3), "a"), line(3, hours(3), "b")}, account: "a",
			want: "1 a:0-3, 2 b:3-3, 3 a:3-open"},
		"before the controller saw the tenant": {lines: []string{line(2, hours(3), "a"), line(3, hours(5), "b")}, account: "c",
			want: "1 a:0-3, 2 b:3-5, 3 c:5-open"},
		"one is in the status": {before: open("b", 3), recorded: 2, lines: []string{line(2, hours(3), "a"), line(3, hours(5), "b")}, account: "c",
			want: "1 b:3-5, 2 c:5-open"},
		"all are in the status": {before: open("a", 3), recorded: 3, lines: []string{line(2, hours(3), "a"), line(3, hours(3), "b")}, account: "a",
			want: "unchanged"},
		"not recorded":     {before: open("a", 0), account: "b", want: "1 a:0-10, 2 b:10-open late"},
		"an unknown time":  {before: open("a", 0), lines: []string{`2 - "a"`}, account: "b", want: "1 a:0-10, 2 b:10-open late"},
		"a known one next": {before: open("a", 0), lines: []string{`2 - "a"`, line(3, hours(5), "b")}, account: "c", want: "1 a:0-5, 2 b:5-5 late, 3 c:5-open"},
		"not recorded, then a recorded one": {before: open("a", 0), lines: []string{line(3, hours(5), "b")}, account: "c",
			want: "1 a:0-5, 2 b:5-5 late, 3 c:5-open"},
		"recorded, then one that is not": {before: open("a", 0), lines: []string{line(2, hours(3), "a"), line(3, hours(5), "a")}, account: "b",
			want: "1 a:0-5, 2 b:5-open"},
		"a time to come":            {before: open("a", 0), lines: []string{line(2, hours(99), "a")}, account: "b", want: "1 a:0-10, 2 b:10-open"},
		"before the period":         {before: open("a", 4), lines: []string{line(2, hours(3), "a")}, account: "b", want: "1 a:4-4, 2 b:4-open"},
		"then deleted":              {before: open("a", 0), lines: []string{line(2, hours(3), "a")}, account: "b", deleted: 4, want: "1 a:0-3, 2 b:3-4"},
		"after the deletion":        {before: open("a", 0), lines: []string{line(2, hours(6), "a")}, account: "b", deleted: 4, want: "1 a:0-4, 2 b:4-4"},
		"not recorded, deleted":     {before: open("a", 0), account: "b", deleted: 4, want: "1 a:0-4, 2 b:4-4 late"},
		"the last period has ended": {before: &v1alpha1.BillingStatus{}, account: "b", deleted: 4, want: "unchanged"},
		"a generation to come":      {before: open("a", 0), lines: []string{line(99, hours(3), "a")}, account: "b", want: "1 a:0-10, 2 b:10-open late"},
		"no line of the policy": {before: open("a", 0), lines: []string{"", "x", `2 yesterday "a"`, `x 2026-11-01T15:00:00Z "a"`,
			`2 2026-11-01T15:00:00Z a`, `2 2026-11-01T15:00:00Z "a" "k"`, `2 2026-11-01T15:00:00Z "a" "k"="v`}, account: "b",
			want: "1 a:0-10, 2 b:10-open late"},
	} {
		t.Run(name, func(t *testing.T) {
			lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "u", Generation: 5, CreationTimestamp: metav1.NewTime(created),
				Annotations: map[string]string{names.BillingChanges: strings.Join(tc.lines, "\n")}}}
			lns.Spec.Billing.Account = tc.account
			lns.Status.Billing = tc.before
			if tc.before != nil {
				tc.before.RecordedGeneration = tc.recorded
			}
			if tc.deleted > 0 {
				deletion := metav1.NewTime(hours(tc.deleted))
				lns.DeletionTimestamp = &deletion
			}
			next := billing.Next(lns, hours(10))
			if got := text(next); got != tc.want {
				t.Fatalf("got  %s\nwant %s", got, tc.want)
			}
			if next == nil {
				return
			}
			if next.RecordedGeneration != 5 {
				t.Errorf("the changes up to generation %d are recorded", next.RecordedGeneration)
			}
			lns.Status.Billing = next
			if again := billing.Next(lns, hours(11)); again != nil {
				t.Errorf("the same changes a second time: %s", text(again))
			}
		})
	}
}

// TestRecordedTexts checks that accounts and labels are read as they were, whatever characters they have.
func TestRecordedTexts(t *testing.T) {
	for _, word := range []string{"", "4711", `a "b" \ = c`, "Physik & Ökonomie/日本", "a\tb\nc", " ", "=", `"="`, "\a\v\x01", "\u2028"} {
		// The policy writes the text between the quotes with these escapes, and all else as it is.
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\a", `\a`, "\b", `\b`, "\f", `\f`, "\v", `\v`).Replace(word) + `"`
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Generation: 2, CreationTimestamp: metav1.NewTime(created), Annotations: map[string]string{
			names.BillingChanges: fmt.Sprintf("2 2026-11-01T15:00:00Z %s %s=%s %s=%s", quoted, quoted, quoted, `"other"`, quoted)}}}
		lns.Spec.Billing.Account = "now"
		next := billing.Next(lns, hours(10))
		if len(next.Pending) != 1 {
			t.Errorf("%q: %s", word, text(next))
			continue
		}
		if p := next.Pending[0]; p.Account != word || p.Labels[word] != word || p.Labels["other"] != word || len(p.Labels) != 2 {
			t.Errorf("%q: %+v", word, p)
		}
	}
}

// TestLabelsChangeToo checks that a change of the labels alone begins a period, and that one of labels
// above the limits does not.
func TestLabelsChangeToo(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Generation: 3, CreationTimestamp: metav1.NewTime(created), Annotations: map[string]string{
		names.BillingChanges: `2 2026-11-01T15:00:00Z "a" "k"="v"` + "\n" + `3 2026-11-01T16:00:00Z "a" "` + strings.Repeat("k", 64) + `"="v"`}}}
	lns.Spec.Billing.Account = "a"
	if got := text(billing.Next(lns, hours(10))); got != "1 a:0-3, 2 a:3-open" {
		t.Error(got)
	}
}

// TestFullInTheMiddle checks that the changes that did not fit into the outbox follow later, and those that
// did fit do not follow twice.
func TestFullInTheMiddle(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Generation: 5, CreationTimestamp: metav1.NewTime(created), Annotations: map[string]string{
		names.BillingChanges: line(2, hours(3), "a") + "\n" + line(3, hours(5), "b") + "\n" + line(4, hours(6), "c")}}}
	lns.Spec.Billing.Account = "d"
	lns.Status.Billing = &v1alpha1.BillingStatus{Pending: make([]v1alpha1.BillingPeriod, 254),
		Open: &v1alpha1.BillingPeriod{Sequence: 255, Account: "a", Start: metav1.NewTime(created)}}
	next := billing.Next(lns, hours(10))
	if len(next.Pending) != 256 || next.Open.Account != "c" || next.RecordedGeneration != 3 {
		t.Fatalf("%d periods, %+v, generation %d", len(next.Pending), next.Open, next.RecordedGeneration)
	}
	lns.Status.Billing = next
	if again := billing.Next(lns, hours(10)); again != nil {
		t.Errorf("a full outbox: %s", text(again))
	}
	next.Pending = nil // the table has them
	if got := text(billing.Next(lns, hours(10))); got != "257 c:5-6, 258 d:6-open" {
		t.Error(got)
	}
}
