// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-granular tries out a kube-apiserver that authorizes single fields.
//
// This folder holds flags and start-up only; what the commands do is in pkg.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"kube-granular.dev/pkg/localcluster"
)

func main() {
	err := newCommand().ExecuteContext(untilSignal())
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	os.Exit(exitCode(err))
}

// exitCode returns what the process ends with. A start that a signal ended has the code of
// shells for it, so that a script can tell it from a cluster that was stopped later.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, localcluster.ErrStopped):
		return 128 + int(syscall.SIGINT)
	}
	return 1
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. The
// second ends the process at once, whatever is still under way: etcd's data
// is safe, it is written before a request is answered.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintln(os.Stderr, "error: stopped by a second signal")
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
	cmd.AddCommand(newUpCommand(), newDownCommand(), newProtectedCommand(), newAuditCommand())
	versioned(cmd)
	cmd.SetVersionTemplate("kube-granular {{.Version}}\n")
	return cmd
}

// versioned gives a command and those below it the flag --version. The packages of
// kube-apiserver register one of another type for the whole process, which cobra hands to
// every command that has none.
func versioned(cmd *cobra.Command) {
	cmd.Version = version.Get().GitVersion
	cmd.Flags().Bool("version", false, "print the version and exit")
	for _, below := range cmd.Commands() {
		versioned(below)
	}
}
