// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package billing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing"
)

// TestLabelsWithinLimits checks which billing labels are copied to the status: those within the
// limits of the schema. An LNamespace from before the limits has a period all the same.
func TestLabelsWithinLimits(t *testing.T) {
	long := strings.Repeat("é", 256)
	for name, tc := range map[string]struct {
		key   string
		value string
		kept  bool
	}{
		"a short label":      {"k", "v", true},
		"the longest value":  {"k", long, true},
		"a longer value":     {"k", long + "x", false},
		"55,000 bytes":       {"k", strings.Repeat("x", 55000), false},
		"the longest key":    {strings.Repeat("k", 63), "v", true},
		"a longer key":       {strings.Repeat("k", 64), "v", false},
		"an empty value":     {"k", "", true},
		"a key of two bytes": {strings.Repeat("é", 63), "v", true},
	} {
		lns := &v1alpha1.LNamespace{Spec: v1alpha1.LNamespaceSpec{Billing: v1alpha1.Billing{Account: "a",
			Labels: map[string]v1alpha1.BillingLabel{tc.key: v1alpha1.BillingLabel(tc.value), "team": "t"}}}}
		b := billing.Next(lns, time.Now())
		if b == nil || b.Open == nil || b.Open.Account != "a" || b.Open.Labels["team"] != "t" {
			t.Errorf("%s: no period: %+v", name, b)
			continue
		}
		if value, ok := b.Open.Labels[tc.key]; ok != tc.kept || ok && value != tc.value {
			t.Errorf("%s: kept %t", name, ok)
		}
		lns.Status.Billing = b
		if billing.Next(lns, time.Now()) != nil {
			t.Errorf("%s: the period ends although nothing has changed", name)
		}
	}
	many := map[string]v1alpha1.BillingLabel{}
	for i := range 40 {
		many[fmt.Sprint(i)] = "v"
	}
	lns := &v1alpha1.LNamespace{Spec: v1alpha1.LNamespaceSpec{Billing: v1alpha1.Billing{Labels: many}}}
	if got := len(billing.Next(lns, time.Now()).Open.Labels); got != 16 {
		t.Errorf("%d of many labels", got)
	}
}

// TestPendingWithinLimits checks that the periods that wait for the table stay small, whatever
// labels they have: a status that is too large for etcd can't be written.
func TestPendingWithinLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		full  bool // all 256 periods fit
	}{
		"no long labels":   {"v", true},
		"the longest ones": {strings.Repeat("<", 256), false}, // JSON escapes each of them by six bytes
	} {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}
		changes := 0
		for ; changes < 1000; changes++ {
			lns.Spec.Billing.Account = fmt.Sprint("a", changes)
			lns.Spec.Billing.Labels = map[string]v1alpha1.BillingLabel{}
			for i := range 16 {
				lns.Spec.Billing.Labels[fmt.Sprint(i)] = v1alpha1.BillingLabel(tc.value)
			}
			b := billing.Next(lns, time.Now())
			if b == nil {
				break
			}
			lns.Status.Billing = b
		}
		pending := len(lns.Status.Billing.Pending)
		text, err := json.Marshal(lns.Status)
		if err != nil || len(text) > 350<<10 || (pending == 256) != tc.full || pending == 0 {
			t.Errorf("%s: %d periods in %d bytes after %d changes, %v", name, pending, len(text), changes, err)
		}
		// Once the table has them, the next change is recorded.
		lns.Status.Billing.Pending = nil
		if billing.Next(lns, time.Now()) == nil {
			t.Errorf("%s: the last change is lost", name)
		}
	}
}

// TestTableIsTriedAgainSoon checks that the time between two attempts grows to ten seconds, and no
// further, however long the table is away.
func TestTableIsTriedAgainSoon(t *testing.T) {
	limiter, request := billing.Retries(), reconcile.Request{}
	var last time.Duration
	for range 40 {
		last = limiter.When(request)
		if last > 10*time.Second {
			t.Fatalf("the next attempt is after %v", last)
		}
	}
	if last != 10*time.Second {
		t.Errorf("after many errors, the next attempt is after %v", last)
	}
}
