// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tenancy-controller creates a namespace for each LNamespace, and grants permissions to
// the members that the LNamespace lists. It also records for how long which account pays for the
// LNamespace.
package main

import "kube-granular.dev/tenancy/internal/command"

func main() { command.Main() }
