// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-sudo is the kubectl plugin for the command kubectl sudo, which runs another
// kubectl command with the permissions of the sudoer group of a tenant.
package main

import (
	"context"
	"os"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/sudo"
)

func main() {
	code, err := sudo.Run(context.Background(), "kubectl", os.Args[1:], sudo.Streams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	if err != nil {
		printing.Error(os.Stderr, err)
	}
	os.Exit(code)
}
