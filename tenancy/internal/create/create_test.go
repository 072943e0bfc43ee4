// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package create_test

import (
	"bytes"
	"strings"
	"testing"

	"kube-granular.dev/tenancy/internal/create"
)

// TestCreateFlags checks which LNamespace the flags result in, and which flags are refused before
// a request is sent.
func TestCreateFlags(t *testing.T) {
	for typed, want := range map[string]string{
		"team": "apiVersion: tenancy.kube-granular.dev/v1alpha1 kind: LNamespace metadata: name: team spec: billing: {} sudo: {}",
		"team --user ada --user user:bob --user group:ops:eu":                   "spec: billing: {} sudo: {} users: - kind: User name: ada - kind: User name: bob - kind: Group name: ops:eu",
		"team --manager serviceaccount:ci:deployer":                             "managers: - kind: ServiceAccount name: deployer namespace: ci",
		"team --sudoer ada --allow Lists,Quotas --allow Delete":                 "sudo: allow: - Lists - Quotas - Delete sudoers: - kind: User name: ada",
		"team --billing 4711":                                                   "billing: account: \"4711\"",
		"team --user ada --manager group:ops --until 2099-12-31T17:00:00+01:00": "managers: - kind: Group name: ops until: \"2099-12-31T16:00:00Z\" sudo: {} users: - kind: User name: ada until: \"2099-12-31T16:00:00Z\"",
	} {
		out := bytes.Buffer{}
		cmd := create.NewCommand("no-such-kubectl")
		cmd.SetOut(&out)
		cmd.SetArgs(append(strings.Fields(typed), "--dry-run"))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", typed, err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) || strings.Contains(got, "status") {
			t.Errorf("%s: %s", typed, got)
		}
	}
	for _, typed := range []string{"", "a b", "team --user serviceaccount:x", "team --owner x", "team --until 8h", "team --user ada --until ",
		"team --user ada --until=",
		"team --user ada --until 2020-01-01T00:00:00Z", "team --user ada --until 2099-01-01", "team --user ada --until -1h"} {
		cmd := create.NewCommand("no-such-kubectl")
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		cmd.SetArgs(append(strings.Fields(typed), "--dry-run"))
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%q: no error", typed)
		}
	}
}
