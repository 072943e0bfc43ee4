// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"kube-granular.dev/pkg/localcluster"
)

func newDownCommand() *cobra.Command {
	var dir string
	var remove bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the local cluster, and delete its data if asked to",
		Long: `Stop the local cluster that runs in a directory, as Ctrl-C does in its terminal, and
wait until it has stopped. Where none runs there is nothing to stop.

The data stays, so that "kube-granular up" goes on with it; --delete removes the
directory with everything in it.`,
		Example: `  # Stop the cluster that "kube-granular up" started in this directory
  kube-granular down

  # Stop it and delete all it stored, its certificates and kubeconfigs included
  kube-granular down --delete`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return localcluster.Down(cmd.Context(), dir, remove, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", localcluster.DefaultDir, "directory of the cluster")
	cmd.Flags().BoolVar(&remove, "delete", false, "delete the directory and all that the cluster stored")
	return cmd
}
