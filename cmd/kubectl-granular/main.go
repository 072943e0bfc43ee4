// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-granular is the plugin kubectl granular: it shows, checks and grants
// permissions of single fields.
//
// This folder has only start-up code. The commands are implemented in pkg/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // authentication plugins that a kubeconfig may name

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	cmd := command.New(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	err := cmd.ExecuteContext(ctx)
	stop()
	code, message := command.ExitCode(err)
	if message {
		printing.Error(os.Stderr, err)
	}
	os.Exit(code)
}
