// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-granular runs a local cluster with a kube-apiserver that authorizes single fields,
// and has tools for its administrators.
//
// This folder has only flags and start-up code. The commands are implemented in pkg.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/localcluster"
)

func main() {
	err := newCommand().ExecuteContext(untilSignal())
	if err != nil {
		printing.Error(os.Stderr, err)
	}
	os.Exit(exitCode(err))
}

// exitCode returns the exit code of the process. If a signal interrupted the start of the cluster,
// the code is 130, as in shells. A cluster that was ready before it was stopped has the code 0, so
// that a script can tell the two cases apart. A test of roles that is not valid has the code 2, and
// one that failed has the code 1.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, localcluster.ErrStopped):
		return 128 + int(syscall.SIGINT)
	case errors.As(err, &invalid{}):
		return 2
	}
	return 1
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. The second signal
// exits the process at once. No data is lost then, because etcd writes data to disk before it
// answers a request.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		printing.Fprintf(os.Stderr, "error: stopped by a second signal\n")
		os.Exit(1)
	}()
	return ctx
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kube-granular",
		Short:         "A Kubernetes API server that authorizes single fields",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newUpCommand(), newDownCommand(),
		group("protected", "Inspect protected labels and annotations", newReportCommand()),
		group("audit", "Read audit logs", newChainCommand()),
		group("authorization", "Check authorization configurations", newAuthorizationCheckCommand()),
		newTestCommand(), group("preflight", "Look ahead before a cluster's servers are replaced", newRollbackCommand()),
		newVersionCommand())
	versioned(cmd)
	cmd.SetVersionTemplate("kube-granular {{.Version}}\n")
	return cmd
}

// group returns a command that only has a command below it.
func group(name, short string, below *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs}
	cmd.AddCommand(below)
	return cmd
}

// versioned adds the flag --version to a command and its subcommands. Packages of kube-apiserver
// register a global flag --version of another type, which cobra would add to every command that
// has no flag of that name.
func versioned(cmd *cobra.Command) {
	cmd.Version = version.Get().GitVersion
	cmd.Flags().Bool("version", false, "print the version and exit")
	for _, below := range cmd.Commands() {
		versioned(below)
	}
}
