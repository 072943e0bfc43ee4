// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-with is the plugin kubectl with: it runs a kubectl command with a single role
// or delegation of the caller.
package main

import (
	"errors"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // authentication plugins that a kubeconfig may name
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/with"
)

func main() {
	invocation, err := with.Parse(os.Args[1:])
	switch {
	case errors.Is(err, with.ErrHelp):
		printing.Fprintf(os.Stdout, "%s", printing.Escaped(with.Usage))
		return
	case err != nil:
		printing.Error(os.Stderr, err)
		os.Exit(1)
	}
	// kubectl reads its arguments from os.Args.
	os.Args = append([]string{"kubectl"}, invocation.Command...)
	logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) //nolint:errcheck // the flag itself reports an invalid verbosity
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := cli.RunNoErrOutput(with.Kubectl(invocation.Authority, invocation.Reason, streams)); err != nil {
		util.CheckErr(err)
	}
}
