// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestContract holds the names and defaults of the flags, because scripts of users depend on them.
func TestContract(t *testing.T) {
	fs := newUpCommand().Flags()
	for name, def := range map[string]string{
		"dir":                  ".kube-granular",
		"port":                 "16443",
		"etcd-servers":         "[]",
		"feature-gates":        "",
		"authorization-config": "",
		"audit-log":            "",
		"demo":                 "true",
		"tenancy":              "false",
	} {
		f := fs.Lookup(name)
		if f == nil {
			t.Errorf("--%s is gone", name)
		} else if f.DefValue != def {
			t.Errorf("--%s: default %q, want %q", name, f.DefValue, def)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string // part of the error; an invalid port keeps each case from starting a cluster
	}{
		{[]string{"up", "--port=-1"}, "--port -1"},
		{[]string{"up", "--port=-1", "--", "--v=4"}, "--port -1"},
		{[]string{"up", "--port=-1", "--feature-gates=A=true,B=false"}, "--port -1"},
		{[]string{"up", "--port=-1", "--feature-gates=A"}, "feature-gates"},
		{[]string{"up", "--port=-1", "now"}, `"now" is not a flag`},
		{[]string{"up", "--port=-1", "now", "--", "--v=4"}, `"now" is not a flag`},
		{[]string{"up", "--port=-1", "--v=4"}, "unknown flag"},
		{[]string{"downn"}, "unknown command"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			cmd := newCommand()
			cmd.SetArgs(tc.args)
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}
