// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs the patched kube-apiserver inside this process.
//
// Model: a Config is converted to kube-apiserver's flags. Flags that the user gives after -- take
// precedence. Upstream's code runs the server until the Go context of Server.Run ends.
//
// Invariant: the server listens only on the listener that it is given.
//
// kube-apiserver keeps state in package variables (feature gates, logging), so a process can run
// it only once. The package changes the server only through its flags.
package apiserver
