// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-create-lns is the kubectl plugin for the command kubectl create lns, which
// creates an LNamespace.
package main

import (
	"os"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/create"
)

func main() {
	if err := create.NewCommand("kubectl").Execute(); err != nil {
		printing.Error(os.Stderr, err)
		os.Exit(1)
	}
}
