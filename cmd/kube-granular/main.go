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
	if err := newCommand().ExecuteContext(untilSignal()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
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
		Version:       version.Get().GitVersion,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newUpCommand(), newProtectedCommand())
	return cmd
}
