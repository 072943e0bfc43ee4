// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddUntil adds the flag --until, with its completion. what says which entries end.
func AddUntil(cmd *cobra.Command, what string) {
	cmd.Flags().String("until", "", "when "+what+": a time with a time zone, such as 2026-12-31T17:00:00Z, or a time from now, such as 8h")
	_ = cmd.RegisterFlagCompletionFunc("until", cobra.FixedCompletions([]string{"1h", "8h", "24h", "168h"}, cobra.ShellCompDirectiveNoFileComp))
}

// Until returns the end that the flag --until names at a time, as an entry has it. Without the flag, it is
// empty. An empty value is an error: a variable of a script that is not set gives nobody rights for ever.
func Until(flags *pflag.FlagSet, now time.Time) (string, error) {
	if !flags.Changed("until") {
		return "", nil
	}
	text, err := flags.GetString("until")
	if err != nil {
		return "", err
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		length, failed := time.ParseDuration(text)
		if failed != nil {
			return "", fmt.Errorf("--until %q: want a time with a time zone, "+
				"such as 2026-12-31T17:00:00Z, or a time from now, such as 8h", text)
		}
		end = now.Add(length)
	}
	end = end.UTC().Truncate(time.Second)
	if !end.After(now) {
		return "", fmt.Errorf("--until %q: this time has passed", text)
	}
	if end.Year() > 9999 {
		return "", fmt.Errorf("--until %q: the year is after 9999", text)
	}
	return end.Format(time.RFC3339), nil
}
