// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"fmt"

	"github.com/spf13/cobra"
)

// UsageError returns the error for wrong flags or arguments of a plugin, with the next step. The exit code is
// 1, as that of kubectl.
func UsageError(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; %s --help shows the usage", err, c.CommandPath())
}

// ExplainUsage makes a command and those below it return UsageError for wrong flags and arguments.
func ExplainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(UsageError)
	for _, c := range append(root.Commands(), root) {
		valid := c.Args
		if valid == nil {
			valid = cobra.ArbitraryArgs
		}
		c.Args = func(c *cobra.Command, args []string) error {
			if err := valid(c, args); err != nil {
				return UsageError(c, err)
			}
			return nil
		}
	}
}
