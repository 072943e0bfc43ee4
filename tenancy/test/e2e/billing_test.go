// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// billed returns a tenant with an account and as many billing labels with the same value.
func billed(name, account string, count int, value string) *v1alpha1.LNamespace {
	lns := tenant(name)
	lns.Spec.Billing = v1alpha1.Billing{Account: account, Labels: map[string]v1alpha1.BillingLabel{}}
	for i := range count {
		lns.Spec.Billing.Labels[fmt.Sprint("label-", i)] = v1alpha1.BillingLabel(value)
	}
	return lns
}

// TestBillingLimits checks the limits of accounts and billing labels: the largest ones are billed,
// larger ones are refused, and a tenant from before the limits is billed, changed and deleted.
//
// Attack: a tenant has billing labels that do not fit into the status, or an account that no table takes, so that
// it is not billed and can't be deleted
// Was: got through
// Answer: 422; an LNamespace that was stored before there were limits is billed without such labels
func TestBillingLimits(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	const crd = "crd/lnamespaces.tenancy.kube-granular.dev"
	remove := func(path string) string {
		return `{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/billing/properties/` + path + `"}`
	}
	if out, err := c.kubectl("admin", "patch", crd, "--type=json", "-p", "["+strings.Join([]string{remove("account/pattern"),
		remove("labels/x-kubernetes-validations"), remove("labels/additionalProperties/maxLength"), remove("labels/additionalProperties/pattern")}, ",")+"]"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	old := billed("limits-old", "a\x00b", 16, strings.Repeat("x", 55000))
	wait(t, "the server has no limits", func() error { return c.client.Create(t.Context(), old.DeepCopy()) })
	if out, err := c.kubectl("admin", "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(c.root, "tenancy", "config", c.config)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wait(t, "the server has limits", func() error {
		if err := c.client.Create(t.Context(), billed("limits", "a\x00", 1, "v"), client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("not refused: %v", err)
		}
		return nil
	})
	c.run(t, "--billing-source", filepath.Join(c.dir, "bill.db"))
	key := func(key string) *v1alpha1.LNamespace {
		lns := billed("limits", "a", 1, "v")
		lns.Spec.Billing.Labels[key] = "v"
		return lns
	}
	for name, tc := range map[string]struct {
		lns *v1alpha1.LNamespace
		ok  bool
	}{
		"a normal one":                 {billed("limits", "Physik & Ökonomie #1", 2, "x = y"), true},
		"the longest account":          {billed("limits", strings.Repeat("ü", 128), 1, "v"), true},
		"a longer account":             {billed("limits", strings.Repeat("ü", 129), 1, "v"), false},
		"a tab in the account":         {billed("limits", "a\tb", 1, "v"), false},
		"a line break in the account":  {billed("limits", "a\nb", 1, "v"), false},
		"one at its end":               {billed("limits", "a\n", 1, "v"), false},
		"NUL in the account":           {billed("limits", "a\x00b", 1, "v"), false},
		"an escape in the account":     {billed("limits", "\x1b[2J", 1, "v"), false},
		"an escape of one byte":        {billed("limits", "\u009b2J", 1, "v"), false},
		"the most and longest values":  {billed("limits", "a", 16, strings.Repeat("<", 256)), true},
		"a longer value":               {billed("limits", "a", 1, strings.Repeat("v", 257)), false},
		"values of 55,000 bytes":       {billed("limits", "a", 16, strings.Repeat("v", 55000)), false},
		"too many labels":              {billed("limits", "a", 17, "v"), false},
		"a line break in a value":      {billed("limits", "a", 1, "a\nb"), false},
		"NUL in a value":               {billed("limits", "a", 1, "\x00"), false},
		"the longest key":              {key(strings.Repeat("k", 63)), true},
		"a longer key":                 {key(strings.Repeat("k", 64)), false},
		"a tab in a key":               {key("a\tb"), false},
		"an escape in a key":           {key("\x1b"), false},
		"a key with a slash and a dot": {key("example.com/team"), true},
	} {
		if err := c.client.Create(t.Context(), tc.lns, client.DryRunAll); tc.ok && err != nil || !tc.ok && !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	largest := c.make(t, billed("limits-largest", strings.Repeat("ü", 128), 16, strings.Repeat("<", 256)))
	c.settled(t, old)
	for _, lns := range []*v1alpha1.LNamespace{largest, old} {
		wait(t, lns.Name+" is billed", func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
				return err
			}
			if b := lns.Status.Billing; b == nil || !b.OpenStored || b.Open.Account != lns.Spec.Billing.Account {
				return fmt.Errorf("%+v", b)
			}
			return nil
		})
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Users = append(s.Users, user("limits-other")) })
		c.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Billing.Account = "b" })
	}
	if got := len(largest.Status.Billing.Open.Labels); got != 16 {
		t.Errorf("the largest tenant is billed with %d labels", got)
	}
	if got := len(old.Status.Billing.Open.Labels); got != 0 {
		t.Errorf("the old tenant is billed with %d labels", got)
	}
	for _, lns := range []*v1alpha1.LNamespace{largest, old} {
		if err := c.client.Delete(t.Context(), lns); err != nil {
			t.Error(err)
		}
		c.gone(t, lns)
	}
}

// roomForStatus checks that the webhook refuses an LNamespace that leaves no room for its status.
func roomForStatus(t *testing.T, c *cluster) {
	for count, ok := range map[int]bool{1000: true, 5000: false} {
		lns := tenant("large")
		lns.Labels = map[string]string{}
		for i := range count {
			lns.Labels[fmt.Sprintf("label-%050d", i)] = fmt.Sprintf("%060d", i)
		}
		err := c.as(t, "ada").Create(t.Context(), lns, client.DryRunAll)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "its status would not fit") {
			t.Errorf("%d labels: %v", count, err)
		}
	}
}
