// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of the controller: it parses flags and starts the commands,
// which other packages implement.
//
// It is not a main package, so that a main package can add a database driver before it calls Main.
package command

import (
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"kube-granular.dev/api/printing"

	"kube-granular.dev/tenancy/internal/build"
)

// Main runs the command of the process arguments, and exits.
func Main() {
	if err := New().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		printing.Error(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// New returns the command tenancy-controller with its subcommands.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "tenancy-controller",
		Short:         "Tenants of a cluster: namespaces, rights, sudo and bills",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newRunCommand(), newBillingCommand(), newVettedCommand(), newAdoptCommand(), newRestoreCommand())
	cmd.AddCommand(newManifestsCommands()...)
	build.AddVersion(cmd)
	return cmd
}
