// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of the controller: flags and start-up. What the
// commands do is in the packages next to it.
//
// It is no main package, so that a program which adds a database for bills is the same
// command.
package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main runs the command that the process was started with, and ends the process.
func Main() {
	if err := New().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// New returns the command.
func New() *cobra.Command {
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
