// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
)

func TestText(t *testing.T) {
	for number, want := range map[string]string{
		"v0.1.0":                    "v0.1.0, sources digest",
		"v0.1.0-rc.1":               "v0.1.0-rc.1, sources digest",
		"v0.0.0-master+$Format:%H$": "unknown",
	} {
		if got := text(number, "digest"); got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
	}
}

// TestFlag checks that a command prints its version, and does nothing else. The linker sets no version for tests.
func TestFlag(t *testing.T) {
	out, cmd := &bytes.Buffer{}, &cobra.Command{Use: "c", Run: func(*cobra.Command, []string) { t.Error("the command runs") }}
	AddVersion(cmd)
	cmd.SetOut(out)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.Execute(); err != nil || out.String() != "unknown\n" {
		t.Errorf("%q, %v", out, err)
	}
}
