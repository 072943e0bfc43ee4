// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestManifestsOfSudo checks that the command manifests prints those of the mode of sudo that the
// flag names, and refuses a mode that does not exist: a misspelled one would install the other.
func TestManifestsOfSudo(t *testing.T) {
	print := func(args ...string) (string, error) {
		show := newManifestsCommands()[0]
		var out bytes.Buffer
		show.SetOut(&out)
		show.SetErr(&out)
		show.SilenceUsage = true
		show.SetArgs(args)
		err := show.Execute()
		return out.String(), err
	}
	impersonation, err := print()
	if err != nil {
		t.Fatal(err)
	}
	delegation, err := print("--sudo=Delegation")
	if err != nil {
		t.Fatal(err)
	}
	if impersonation == delegation {
		t.Error("both modes of sudo have the same manifests")
	}
	for _, mode := range []string{"delegation", "Delegate", ""} {
		if out, err := print("--sudo=" + mode); err == nil || !strings.Contains(err.Error(), "want Impersonation or Delegation") {
			t.Errorf("--sudo=%s: %v, %d bytes of manifests", mode, err, len(out))
		}
	}
}
