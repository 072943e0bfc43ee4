// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-granular tries out a kube-apiserver that authorizes single fields.
//
// This folder holds flags and start-up only; what the commands do is in pkg.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; by then a second one must be able to force.
	context.AfterFunc(ctx, stop)

	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kube-granular",
		Short:         "A Kubernetes API server that authorizes single fields",
		Version:       version.Get().GitVersion,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newUpCommand())
	return cmd
}
