// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestAdoptFlags checks which flags and files of the command adopt are refused before a request is sent.
func TestAdoptFlags(t *testing.T) {
	const file = "{apiVersion: v1, kind: Namespace, metadata: {name: web}}"
	for typed, want := range map[string]string{
		"":                                `required flag(s) "filename" not set`,
		"-f - --apply --confirm":          "are two steps",
		"-f - -o xml":                     "--output xml: want one of table, wide, json, yaml, lnamespaces",
		"-f - --apply -o json":            "--output is for the plan",
		"-f - --reserved-pattern (":       "--reserved-pattern",
		"-f no-such-file":                 "no-such-file",
		"-f - web":                        "unknown command",
		"-f - --kubeconfig no-such-file":  "kubeconfig",
		"-f - -o yaml --kubeconfig /none": "kubeconfig",
	} {
		cmd := newAdoptCommand()
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
