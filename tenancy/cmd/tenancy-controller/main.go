// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tenancy-controller creates for each LNamespace a namespace, the permissions of its
// members, and a bill.
package main

import "kube-granular.dev/tenancy/internal/command"

func main() { command.Main() }
