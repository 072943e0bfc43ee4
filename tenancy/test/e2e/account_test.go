// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// requiredAccount checks that an LNamespace keeps an account while the mapping requires one, and
// that one from before, without an account, can still be changed otherwise.
func requiredAccount(t *testing.T, c *cluster, mapping string) {
	was, err := os.ReadFile(mapping)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(mapping, was, 0o600); err != nil {
			t.Error(err)
		}
	})
	without := tenant("required-without")
	without.Spec.Billing.Account = ""
	c.make(t, without) // nobody requires an account yet
	if err := os.WriteFile(mapping, append(was, "required: true\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	with := c.make(t, tenant("required-with"))
	for account, ok := range map[string]bool{"": false, " ": false, "\u200b": false, "4712": true} {
		lns := tenant("required-new")
		lns.Spec.Billing.Account = account
		err := c.as(t, "bob").Create(t.Context(), lns, client.DryRunAll)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "spec.billing.account is missing") {
			t.Errorf("a new one, account %q: %v", account, err)
		}
	}
	for _, lns := range []*v1alpha1.LNamespace{with, without} {
		c.allowed(t, lns.Name+"-manager", nil, "patch", "lnamespaces", "", lns.Name)
	}
	for _, tc := range []struct {
		lns   *v1alpha1.LNamespace
		patch string
		ok    bool
	}{
		{with, `{"spec":{"billing":{"account":null}}}`, false},
		{with, `{"spec":{"billing":{"account":""}}}`, false},
		{with, `{"spec":{"billing":{"account":" "}}}`, false},
		{with, `{"spec":{"billing":null}}`, false},
		{with, `{"spec":{"billing":{"account":"4712"}}}`, true},
		{without, `{"spec":{"billing":{"account":" "}}}`, false},
		{without, `{"spec":{"users":[{"name":"required-other"}]}}`, true},
		{without, `{"spec":{"billing":{"labels":{"k":"v"}}}}`, true},
		{without, `{"spec":{"billing":{"account":"4712"}}}`, true},
		{without, `{"spec":{"billing":{"account":null}}}`, false},
	} {
		err := c.as(t, tc.lns.Name+"-manager").Patch(t.Context(), tc.lns.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(tc.patch)))
		if (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "spec.billing.account is missing") {
			t.Errorf("%s %s: %v", tc.lns.Name, tc.patch, err)
		}
	}
}
