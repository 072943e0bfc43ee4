// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo_test

import (
	"io"
	"strings"
	"testing"

	"kube-granular.dev/tenancy/internal/sudo"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		typed                              string
		command, namespace, tenant, global string
		reason                             string
	}{
		{typed: "get pods", command: "get pods"},
		{typed: "kubectl get pods -n team", command: "get pods -n team", namespace: "team"},
		{typed: "/usr/bin/kubectl get pods --namespace=team", command: "get pods --namespace=team", namespace: "team"},
		{typed: "get pods -nteam", command: "get pods -nteam", namespace: "team"},
		{typed: "-n team get pods", command: "--namespace=team get pods", namespace: "team"},
		{typed: "--reason outage get pods", command: "get pods", reason: "outage"},
		{typed: "--context=prod get pods --kubeconfig f", command: "get pods --kubeconfig f",
			global: "--context=prod --kubeconfig=f"},
		{typed: "edit lns team", command: "edit lns team", tenant: "team"},
		{typed: "edit lnamespace/team", command: "edit lnamespace/team", tenant: "team"},
		{typed: "get lns", command: "get lns"},
		{typed: "exec -n team p -- sh -n other", command: "exec -n team p -- sh -n other", namespace: "team"},
		{typed: "lns x", command: "lns x"},
		{typed: "--user admin get pods --user bob", command: "get pods --user bob", global: "--user=admin --user=bob"},
		{typed: "create rolebinding b --role r --user bob", command: "create rolebinding b --role r --user bob"},
		{typed: "create --user=bob clusterrolebinding b", command: "create --user=bob clusterrolebinding b"},
		{typed: "--context c set subject rolebinding b --user bob", command: "set subject rolebinding b --user bob",
			global: "--context=c"},
		{typed: "create role r --user admin", command: "create role r --user admin", global: "--user=admin"},
	} {
		a, err := sudo.Parse(strings.Fields(tc.typed))
		if err != nil {
			t.Errorf("%s: %v", tc.typed, err)
			continue
		}
		for what, pair := range map[string][2]string{
			"command": {strings.Join(a.Command, " "), tc.command}, "namespace": {a.Namespace, tc.namespace}, "tenant": {a.Tenant,
				tc.tenant},
			"global": {strings.Join(a.Global, " "), tc.global}, "reason": {a.Reason, tc.reason},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s is %q, want %q", tc.typed, what, pair[0], pair[1])
			}
		}
	}
	for _, typed := range []string{"", "--reason", "--as=x get pods", "kubectl", "sudo get pods", "kubectl sudo get pods", "--user admin create rolebinding b --user bob", "--user=admin set subject rolebinding b", "-o wide get pods", "-l -o json", "-l -o"} {
		if _, err := sudo.Parse(strings.Fields(typed)); err == nil {
			t.Errorf("%q: no error", typed)
		}
	}
}

// TestExitCodes checks the exit codes of kubectl sudo.
func TestExitCodes(t *testing.T) {
	for typed, want := range map[string]int{"": 1, "--shell bash": 0, "--shell tcsh": 1, "-l": 1, "get pods": 1} {
		code, err := sudo.Run(t.Context(), "no-such-kubectl", strings.Fields(typed), sudo.Streams{Out: io.Discard, ErrOut: io.Discard})
		if code != want || (err != nil) != (want != 0) {
			t.Errorf("%q: %d, %v", typed, code, err)
		}
	}
}
