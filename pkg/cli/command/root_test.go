// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestUsage checks that wrong flags and arguments name the next step, and that --version works.
func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"who-can granular:labels": "kubectl granular who-can --help shows the usage",
		"lint":                    "kubectl granular lint --help shows the usage",
		"can-i --nothing":         "unknown flag: --nothing; kubectl granular can-i --help shows the usage",
		"nothing":                 "kubectl granular --help shows the usage",
		"--version":               "",
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		cmd := New(streams)
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		if want == "" && (err != nil || !strings.HasPrefix(out.String(), "v")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v %q", args, err, out.String())
		}
	}
}
