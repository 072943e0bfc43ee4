// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/authorizationconfig"
)

func newAuthorizationCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Check authorization configurations as the server does when it starts",
		Long: `Check files with authorization configurations, as kube-apiserver does when it starts
with --authorization-config. The kubeconfigs of webhooks, and the certificates that
these name, must be where the configuration says. Match conditions must compile, and
must not cost too much for a caller in 100 groups.

The command needs no server and asks no webhook. It fails if a file can't be used, and
names the file, the field and the reason.`,
		Example: `  # In CI, before the file gets to the servers
  kube-granular authorization check authorization.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, file := range args {
				config, err := authorizationconfig.Load(file)
				if err != nil {
					return err
				}
				printing.Fprintf(cmd.OutOrStdout(), "%s: valid, %d authorizers\n", file, len(config.Authorizers))
			}
			return nil
		},
	}
}
