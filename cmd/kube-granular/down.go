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
wait until it has stopped. If none runs, nothing is stopped.

The data is kept, so that "kube-granular up" continues with it; --delete removes the
directory and everything in it.`,
		Example: `  # Stop the cluster that "kube-granular up" started in this directory
  kube-granular down

  # Stop it and delete its data, certificates and kubeconfigs
  kube-granular down --delete`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return localcluster.Down(cmd.Context(), dir, remove, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", localcluster.DefaultDir, "directory of the cluster")
	cmd.Flags().BoolVar(&remove, "delete", false, "delete the directory with all data of the cluster")
	return cmd
}
