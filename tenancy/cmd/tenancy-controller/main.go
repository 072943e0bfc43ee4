// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tenancy-controller makes of every LNamespace a namespace, the rights of its
// people, and a bill.
package main

import "kube-granular.dev/tenancy/internal/command"

func main() { command.Main() }
