// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-create-lns is the kubectl plugin for the command kubectl create lns, which
// creates an LNamespace.
package main

import (
	"fmt"
	"os"

	"kube-granular.dev/tenancy/internal/create"
)

func main() {
	if err := create.NewCommand("kubectl").Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
