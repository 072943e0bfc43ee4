// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the processes that are measured: one etcd, and any number of kube-apiservers
// that use it, each in its own key space. They listen on the loopback interface or a Unix socket.
//
// Model: a Stage is a directory with certificates and one etcd, whose data outlives the servers. A
// Server is one run of a kube-apiserver binary. A Client is one user of one server.
//
// Invariant: when Stop returns, the process has ended.
//
// The package measures CPU time and memory, and reads metrics and profiles. Its callers decide which
// requests are sent, and interpret the figures.
package process
