// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-lns is the kubectl plugin for the command kubectl lns, which shows tenants and
// changes their people and the account that pays.
package main

import (
	"context"
	"os"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/lns"
)

func main() {
	if err := lns.NewCommand().ExecuteContext(context.Background()); err != nil {
		printing.Error(os.Stderr, err)
		os.Exit(1)
	}
}
