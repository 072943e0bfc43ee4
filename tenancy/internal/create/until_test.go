// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package create_test

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"kube-granular.dev/tenancy/internal/create"
)

// TestUntil checks which ends the flag --until takes, and that no value means "for ever".
func TestUntil(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 5e8, time.FixedZone("", 3600)) // 11:00:00.5 in UTC
	for typed, want := range map[string]string{
		"2026-11-27T11:00:01Z": "2026-11-27T11:00:01Z", "2026-11-27T12:30:00+01:00": "2026-11-27T11:30:00Z",
		"8h": "2026-11-27T19:00:00Z", "1h30m": "2026-11-27T12:30:00Z", "1s": "2026-11-27T11:00:01Z",
		"2026-12-01T00:00:00.9Z": "2026-12-01T00:00:00Z", // the server takes no parts of a second
		// These are refused.
		"": "", " ": "", "2026-11-27T11:00:00Z": "", "2026-11-27T11:00:00.9Z": "", "2026-11-27T12:00:00+01:00": "",
		"0": "", "0s": "", "499ms": "", "-8h": "",
		"8": "", "8d": "", "tomorrow": "", "never": "", "2026-12-31": "", "2026-12-31T17:00:00": "", "9999-12-31T23:59:59-01:00": "",
	} {
		cmd := &cobra.Command{}
		create.AddUntil(cmd, "it ends")
		if err := cmd.Flags().Set("until", typed); err != nil {
			t.Fatal(err)
		}
		if got, err := create.Until(cmd.Flags(), now); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", typed, got, err)
		}
	}
	cmd := &cobra.Command{}
	create.AddUntil(cmd, "it ends")
	if got, err := create.Until(cmd.Flags(), now); got != "" || err != nil {
		t.Errorf("without the flag: %q, %v", got, err)
	}
}
