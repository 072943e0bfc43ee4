// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestRestoreFlags checks which flags and files of the command restore are refused before a request is sent, and that the command
// has the flag that a shortened plan names.
func TestRestoreFlags(t *testing.T) {
	const file = "{apiVersion: v1, kind: Namespace, metadata: {name: web}}"
	for typed, want := range map[string]string{
		"":                                `required flag(s) "filename" not set`,
		"-f - -o xml":                     "--output xml: want one of table, wide",
		"-f - -o json":                    "--output json: want one of table, wide",
		"-f - --apply -o wide":            "--output is for the plan",
		"-f no-such-file":                 "no-such-file",
		"-f - web":                        "unknown command",
		"-f - -o wide --kubeconfig /none": "kubeconfig",
		"-f - --kubeconfig no-such-file":  "kubeconfig",
		"-f - --apply --kubeconfig none":  "kubeconfig",
	} {
		cmd := newRestoreCommand()
		cmd.SetArgs(strings.Fields(typed))
		cmd.SetIn(strings.NewReader(file))
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, wanted %q", typed, err, want)
		}
	}
}
