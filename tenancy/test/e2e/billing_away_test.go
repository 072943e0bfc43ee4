// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/command"
	"kube-granular.dev/tenancy/internal/names"
)

// billingChange is a change of who pays, and the time at which the test made it.
type billingChange struct {
	account string
	moment  time.Time
}

// pay changes who pays by a JSON merge patch of the caller. It waits until two seconds have passed since
// the last change: the times in a bill have no fractions of a second.
func (c *cluster) pay(t *testing.T, caller client.Client, lns *v1alpha1.LNamespace, account, patch string) billingChange {
	t.Helper()
	nextSecond(t)
	moment := time.Now().Truncate(time.Second)
	if err := caller.Patch(t.Context(), lns, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	nextSecond(t)
	return billingChange{account, moment}
}

// nextSecond waits for the next second of the clock.
func nextSecond(t *testing.T) {
	t.Helper()
	start := time.Now().Unix()
	wait(t, "the next second", func() error {
		if time.Now().Unix() == start {
			return fmt.Errorf("second %d", start)
		}
		return nil
	})
}

// TestBillingWhileAway changes who pays while no controller runs, in several ways. Each change has a
// period that begins when the change was made, and the report finds each difference that is made in the
// table.
//
// Attack: a manager changes the account several times while no controller runs, writes the record of these
// changes itself, or claims another time by metadata.managedFields
// Was: got through
// Answer: each account has a period from the change on; a policy writes the record, and nobody else
func TestBillingWhileAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	bill := filepath.Join(c.dir, "bill.db")
	lns := tenant("away")
	lns.Spec.Billing.Account = "a"
	lns.Spec.Managers = []v1alpha1.Subject{user("ada")}
	lns.Annotations = map[string]string{names.BillingChanges: `1 2026-01-01T00:00:00Z "of another LNamespace"`}
	if err := c.client.Create(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	if got, ok := lns.Annotations[names.BillingChanges]; ok {
		t.Errorf("a new LNamespace has changes: %q", got)
	}
	want := []billingChange{{"a", lns.CreationTimestamp.Time}}
	// No controller has seen the tenant yet.
	want = append(want, c.pay(t, c.client, lns, "b", `{"spec":{"billing":{"account":"b"}}}`))
	want = append(want, c.pay(t, c.client, lns, `"c" \ d`, `{"spec":{"billing":{"account":"\"c\" \\ d","labels":{"k=\"":"v w"}}}}`))

	start := func() *controller {
		t.Helper()
		k := c.run(t, "--billing-source", bill)
		wait(t, "the table has the period", func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				return err
			}
			if b := lns.Status.Billing; b == nil || !b.OpenStored || b.Open.Account != lns.Spec.Billing.Account {
				return fmt.Errorf("%+v", b)
			}
			return nil
		})
		c.settled(t, lns)
		return k
	}
	if err := start().stop(); err != nil {
		t.Fatal(err)
	}
	// The manager writes more than the account.
	ada := c.as(t, "ada")
	for _, patch := range []string{
		`{"metadata":{"annotations":{"tenancy.kube-granular.dev/billing-changes":"3 2026-01-01T00:00:00Z \"x\""}}}`,
		`{"metadata":{"annotations":{"tenancy.kube-granular.dev/billing-changes":null}}}`,
	} {
		before := lns.Annotations[names.BillingChanges]
		if err := ada.Patch(t.Context(), lns, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		if got := lns.Annotations[names.BillingChanges]; got != before && got != "" {
			t.Errorf("%s: the annotation was %q and is %q", patch, before, got)
		}
	}
	want = append(want, c.pay(t, ada, lns, "e", `{"metadata":{"annotations":{"tenancy.kube-granular.dev/billing-changes":null}},"spec":{"billing":{"account":"e","labels":null}}}`))
	// A manager of fields with another time, which owns the account.
	forged := lns.DeepCopy()
	past := metav1.NewTime(lns.CreationTimestamp.Time)
	forged.ManagedFields = append(forged.ManagedFields, metav1.ManagedFieldsEntry{Manager: "forger", Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: v1alpha1.GroupVersion.String(), Time: &past, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:billing":{"f:account":{}}}}`)}})
	forged.Spec.Billing.Account = "f"
	nextSecond(t)
	want = append(want, billingChange{"f", time.Now().Truncate(time.Second)})
	if err := ada.Update(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	nextSecond(t)
	applied := billingChange{"g", time.Now().Truncate(time.Second)}
	if out, err := c.command("admin", strings.NewReader(`{"apiVersion":"tenancy.kube-granular.dev/v1alpha1","kind":"LNamespace","metadata":{"name":"away"},"spec":{"billing":{"account":"g"}}}`),
		"kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want = append(want, applied)
	k := start()
	table, err := store.Open(store.Config{Driver: "sqlite", Source: bill, Table: "lnamespace_periods"})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	rows, err := table.Between(t.Context(), time.Unix(0, 0), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b store.Period) int { return int(a.Sequence - b.Sequence) })
	if len(rows) != len(want) {
		t.Fatalf("%d periods: %+v", len(rows), rows)
	}
	for i, row := range rows {
		if late := row.Start.Sub(want[i].moment); row.Account != want[i].account || late < 0 || late > 2*time.Second {
			t.Errorf("period %d: %q pays from %s on, and the change to %q was at %s", row.Sequence, row.Account, row.Start, want[i].account, want[i].moment)
		}
	}
	if labels := rows[2].Labels; len(labels) != 1 || labels[`k="`] != "v w" {
		t.Errorf("labels %q", labels)
	}
	if err := c.hasEvent(t, lns.Name, "BillingTimeUnknown", ""); err == nil {
		t.Error("a time is not known")
	}
	// A change that only removes the account has no owner, and so no time.
	if err := k.stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
		t.Fatal(err)
	}
	c.pay(t, ada, lns, "", `{"spec":{"billing":{"account":null}}}`)
	start()
	wait(t, "the unknown time is reported", func() error { return c.hasEvent(t, lns.Name, "BillingTimeUnknown", "period 7") })
	c.reportsDifferences(t, bill)
}

// reportsDifferences changes the rows of the table, and checks that the report says so.
func (c *cluster) reportsDifferences(t *testing.T, bill string) {
	t.Helper()
	report := func() (string, error) {
		out := bytes.Buffer{}
		cmd := command.New()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs([]string{"billing", "report", "--billing-source", bill, "--reconcile", "--kubeconfig", filepath.Join(c.dir, "admin.kubeconfig")})
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := report(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	db, err := sql.Open("sqlite", bill)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE saved AS SELECT * FROM lnamespace_periods"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"UPDATE lnamespace_periods SET account = 'x' WHERE sequence = 7":                                                                                `period 7: the account is "x"`,
		"UPDATE lnamespace_periods SET account = 'x' WHERE sequence = 2":                                                                                "does not have what the controller wrote",
		"DELETE FROM lnamespace_periods WHERE sequence = 4":                                                                                             "period 4 is missing",
		"UPDATE lnamespace_periods SET end_unix = start_unix WHERE sequence = 7":                                                                        "is open in the cluster",
		"UPDATE lnamespace_periods SET start_unix = start_unix + 1 WHERE sequence = 7":                                                                  "period 7 begins at",
		"INSERT INTO lnamespace_periods SELECT tenant_uid, 8, tenant, account, labels, start_unix, end_unix FROM lnamespace_periods WHERE sequence = 7": "period 8 is in the table and not in the cluster",
		"INSERT INTO lnamespace_periods SELECT 'other', 1, 'other', account, labels, start_unix, end_unix FROM lnamespace_periods WHERE sequence = 7":   "other (other) is billed and not in the cluster",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
		if out, err := report(); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s", query, err, out)
		}
		if _, err := db.Exec("DELETE FROM lnamespace_periods; INSERT INTO lnamespace_periods SELECT * FROM saved"); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := report(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
