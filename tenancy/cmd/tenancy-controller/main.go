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
	cmd.AddCommand(newRunCommand(), newBillingCommand(), newVettedCommand())
	cmd.AddCommand(newManifestsCommands()...)
	return cmd
}
