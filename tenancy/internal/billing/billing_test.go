// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package billing_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing"
	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/names"
)

// errKilled is the error of the step at which the test simulates a kill of the controller.
var errKilled = errors.New("killed")

// world has a fake API server, a table, a clock, and a controller that can be killed at any of
// its steps: just before the step, or right after it.
type world struct {
	api   client.WithWatch
	table store.Table
	now   time.Time
	// steps counts the controller's writes to the API server and calls of the table. The controller
	// is killed at the step with the number dies.
	steps, dies int
	after, away bool
	events      recorder
}

// recorder counts events by their reason.
type recorder map[string]int

func (r recorder) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) { r[reason]++ }

func newWorld(t *testing.T) *world {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	table, err := store.Open(store.Config{Driver: "sqlite", Source: "file:" + filepath.Join(t.TempDir(), "bill.db") + "?_pragma=synchronous(off)", Table: "periods"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return &world{
		api:   fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.LNamespace{}).Build(),
		table: table, now: created, dies: -1, events: recorder{},
	}
}

// step calls do, which is one step of the controller, unless the controller is killed before it.
func (w *world) step(do func() error) error {
	w.steps++
	if w.steps == w.dies && !w.after {
		return errKilled
	}
	if err := do(); err != nil {
		return err
	}
	if w.steps == w.dies {
		return errKilled
	}
	return nil
}

func (w *world) Prepare(ctx context.Context) error {
	return w.step(func() error { return w.table.Prepare(ctx) })
}

func (w *world) Put(ctx context.Context, p store.Period) error {
	return w.step(func() error {
		if w.away {
			return errors.New("the table is unavailable")
		}
		return w.table.Put(ctx, p)
	})
}

// reconcile runs the controller until it has nothing left to do, or the table is unavailable. It
// restarts a killed controller.
func (w *world) reconcile(t *testing.T) {
	t.Helper()
	watched := interceptor.NewClient(w.api, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.step(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.step(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
	for range 20 {
		r := billing.Reconciler{Client: watched, Table: w, Now: func() time.Time { return w.now }, Recorder: w.events}
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "team"}})
		switch {
		case err == nil && result.RequeueAfter == 0, w.away && err != nil:
			return
		case err != nil && !errors.Is(err, errKilled):
			t.Fatal(err)
		}
	}
	t.Fatal("the controller does not finish after 20 reconciliations")
}

// change changes the account, and records that as the admission policy does.
func (w *world) change(t *testing.T, account string) {
	t.Helper()
	lns := &v1alpha1.LNamespace{}
	if err := w.api.Get(t.Context(), client.ObjectKey{Name: "team"}, lns); err != nil {
		t.Fatal(err)
	}
	lns.Generation++
	kept := []string{line(lns.Generation, w.now, lns.Spec.Billing.Account)}
	for old := range strings.SplitSeq(lns.Annotations[names.BillingChanges], "\n") {
		generation, _, _ := strings.Cut(old, " ")
		if n, err := strconv.ParseInt(generation, 10, 64); err == nil && lns.Status.Billing != nil && n > lns.Status.Billing.RecordedGeneration {
			kept = slices.Insert(kept, len(kept)-1, old)
		}
	}
	lns.Annotations = map[string]string{names.BillingChanges: strings.Join(kept, "\n")}
	lns.Spec.Billing.Account = account
	if err := w.api.Update(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
}

func (w *world) create(t *testing.T) {
	t.Helper()
	if err := w.api.Create(t.Context(), &v1alpha1.LNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "u", Generation: 1, Finalizers: []string{billing.Finalizer}, CreationTimestamp: metav1.NewTime(w.now)},
		Spec:       v1alpha1.LNamespaceSpec{Billing: v1alpha1.Billing{Account: "a"}},
	}); err != nil {
		t.Fatal(err)
	}
}

// bill returns the content of the table as text: the account of each period, and its start and
// end in hours since the creation of the tenant.
func (w *world) bill(t *testing.T) string {
	t.Helper()
	if err := w.table.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	periods, err := w.table.Between(t.Context(), time.Unix(0, 0), time.Unix(1<<40, 0))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]string, len(periods))
	for _, p := range periods {
		end := "open"
		if !p.End.IsZero() {
			end = fmt.Sprint(p.End.Sub(created).Hours())
		}
		rows[p.Sequence-1] = fmt.Sprintf("%s:%v-%s", p.Account, p.Start.Sub(created).Hours(), end)
	}
	return fmt.Sprint(rows)
}

// TestKilled checks that the bill of a tenant is the same at whichever step the controller is
// killed. It repeats the life of the tenant for each step, and kills the controller once.
func TestKilled(t *testing.T) {
	live := func(t *testing.T, dies int, after bool) (string, int) {
		w := newWorld(t)
		w.dies, w.after = dies, after
		w.create(t)
		w.reconcile(t)
		w.now = w.now.Add(time.Hour)
		w.change(t, "b")
		w.reconcile(t)
		w.now = w.now.Add(time.Hour)
		w.change(t, "c")
		w.reconcile(t)
		w.now = w.now.Add(time.Hour)
		// The fake API server sets the deletion timestamp by its own clock.
		lns := &v1alpha1.LNamespace{}
		if err := w.api.Get(t.Context(), client.ObjectKey{Name: "team"}, lns); err != nil {
			t.Fatal(err)
		}
		return w.bill(t), w.steps
	}
	const want = "[a:0-1 b:1-2 c:2-open]"
	got, steps := live(t, -1, false)
	if got != want || steps < 10 {
		t.Fatalf("never killed: %s, %d steps", got, steps)
	}
	for dies := 1; dies <= steps; dies++ {
		for _, after := range []bool{false, true} {
			if got, _ := live(t, dies, after); got != want {
				t.Errorf("killed at step %d (after it: %t): %s", dies, after, got)
			}
		}
	}
}

// TestAway checks that changes made while the table is unavailable are billed once it is
// available again, and that a tenant that is deleted in the meantime stays until then.
func TestAway(t *testing.T) {
	w := newWorld(t)
	w.create(t)
	w.away = true
	for _, account := range []string{"b", "c", "b"} {
		w.reconcile(t)
		w.now = w.now.Add(time.Hour)
		w.change(t, account)
	}
	w.reconcile(t)
	if got := w.bill(t); got != "[]" {
		t.Errorf("while the table is unavailable: %s", got)
	}
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	if err := w.api.Delete(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	if err := w.api.Get(t.Context(), client.ObjectKey{Name: "team"}, lns); err != nil {
		t.Fatalf("the tenant was deleted before its last period was stored: %v", err)
	}
	w.away = false
	w.reconcile(t)
	periods, err := w.table.Between(t.Context(), time.Unix(0, 0), time.Unix(1<<40, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(periods) != 4 {
		t.Errorf("%d periods", len(periods))
	}
	for _, p := range periods {
		if p.End.IsZero() || p.End.Before(p.Start) {
			t.Errorf("period %d: %s to %s", p.Sequence, p.Start, p.End)
		}
	}
	if err := w.api.Get(t.Context(), client.ObjectKey{Name: "team"}, lns); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the tenant was not deleted after its last period was stored: %v", err)
	}
}

// TestClockJumps checks that periods have neither gaps nor overlaps if the clock is set back or
// forward.
func TestClockJumps(t *testing.T) {
	w := newWorld(t)
	w.create(t)
	w.reconcile(t)
	for i, jump := range []time.Duration{2 * time.Hour, -time.Hour, -100 * time.Hour, 200 * time.Hour} {
		w.now = w.now.Add(jump)
		w.change(t, string(rune('b'+i)))
		w.reconcile(t)
	}
	if got := w.bill(t); got != "[a:0-2 b:2-2 c:2-2 d:2-101 e:101-open]" {
		t.Error(got)
	}
}

// TestFull checks that a full outbox loses no change: the changes wait in the annotation until the table
// is available again, and each has a period then.
func TestFull(t *testing.T) {
	w := newWorld(t)
	w.create(t)
	w.away = true
	for i := range 300 {
		w.reconcile(t)
		w.now = w.now.Add(time.Hour)
		w.change(t, fmt.Sprint(i))
	}
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	if err := w.api.Delete(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	w.away = false
	w.reconcile(t)
	periods, err := w.table.Between(t.Context(), time.Unix(0, 0), time.Unix(1<<40, 0))
	if err != nil {
		t.Fatal(err)
	}
	bySequence := map[int64]store.Period{}
	for _, p := range periods {
		bySequence[p.Sequence] = p
	}
	if len(bySequence) != 301 {
		t.Errorf("%d periods", len(bySequence))
	}
	for i := int64(1); i <= int64(len(bySequence)); i++ {
		p := bySequence[i]
		if p.End.IsZero() || i > 1 && (!p.Start.Equal(bySequence[i-1].End) || p.Account != fmt.Sprint(i-2) || !p.Start.Equal(hours(int(i-1)))) {
			t.Errorf("period %d of %q: %s to %s", i, p.Account, p.Start, p.End)
		}
	}
}

// TestMonth checks the bill of a month with changes, in which the controller and the table were away at
// different times, and which changes are reported as late.
func TestMonth(t *testing.T) {
	w := newWorld(t)
	w.create(t)
	w.change(t, "b") // nobody saw the tenant yet
	w.now = hours(10)
	w.reconcile(t)
	w.now = hours(20)
	w.change(t, "c")
	w.away = true
	w.now = hours(30)
	w.reconcile(t) // the table is away
	w.now = hours(40)
	w.change(t, "d")
	w.now = hours(41)
	w.change(t, "e")
	w.now = hours(50)
	w.reconcile(t)
	w.away = false
	w.now = hours(60)
	w.reconcile(t)
	if got := w.bill(t); got != "[a:0-0 b:0-20 c:20-40 d:40-41 e:41-open]" {
		t.Error(got)
	}
	if n := w.events["BillingTimeUnknown"]; n != 0 {
		t.Errorf("%d events although all is known", n)
	}
	// Somebody deleted the policy.
	lns := &v1alpha1.LNamespace{}
	if err := w.api.Get(t.Context(), client.ObjectKey{Name: "team"}, lns); err != nil {
		t.Fatal(err)
	}
	lns.Spec.Billing.Account = "f"
	lns.Generation++
	if err := w.api.Update(t.Context(), lns); err != nil {
		t.Fatal(err)
	}
	w.now = hours(70)
	w.reconcile(t)
	if got := w.bill(t); got != "[a:0-0 b:0-20 c:20-40 d:40-41 e:41-70 f:70-open]" || w.events["BillingTimeUnknown"] != 1 {
		t.Error(got, w.events)
	}
}
