// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tenancy-controller makes of every LNamespace a namespace, the rights of its
// people, and a bill.
//
// This folder holds flags and start-up only; what the commands do is in internal.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"kube-granular.dev/tenancy/config"
)

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "tenancy-controller",
		Short:         "Tenants of a cluster: namespaces, rights, sudo and bills",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newRunCommand(), newBillingCommand(), newVettedCommand(), &cobra.Command{
		Use:   "manifests",
		Short: "Print what a cluster needs before the controller can run",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return config.Write(cmd.OutOrStdout()) },
	})
	return cmd
}
